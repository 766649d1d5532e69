{{/* Names, labels, image. */}}

{{- define "polyad.appName" -}}
{{- default "polyad" .Values.nameOverride -}}
{{- end -}}

{{/* Never cut: it is part of every peer id. Its bounds are checked in _guards.tpl. */}}
{{- define "polyad.fullname" -}}
{{- default .Release.Name .Values.fullnameOverride -}}
{{- end -}}

{{/* The selector, for ever. */}}
{{- define "polyad.selectorLabels" -}}
app.kubernetes.io/name: {{ include "polyad.appName" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "polyad.labels" -}}
{{ include "polyad.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Annotations of an object that stays when its release goes; argument: root and own. */}}
{{- define "polyad.keptAnnotations" -}}
{{- $own := default dict .own -}}
{{- if .root.Values.keepObjects -}}
{{- $own = merge (dict "helm.sh/resource-policy" "keep") $own -}}
{{- end -}}
{{- with $own }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{- define "polyad.operatorSelectorLabels" -}}
app.kubernetes.io/name: polyad-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "polyad.operatorLabels" -}}
{{ include "polyad.operatorSelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Argument: root and image (registry, repository, tag, digest), whose empty parts are those of .Values.image. */}}
{{- define "polyad.imageOf" -}}
{{- $own := .root.Values.image -}}
{{- $image := .image -}}
{{- $registry := default $own.registry $image.registry -}}
{{- $registry = default $registry ((.root.Values.global).imageRegistry) -}}
{{- $repository := default $own.repository $image.repository -}}
{{- $prefix := ternary "" (printf "%s/" (trimSuffix "/" (toString $registry))) (empty $registry) -}}
{{- $digest := $image.digest -}}
{{- $tag := $image.tag -}}
{{- if and (empty $digest) (empty $tag) -}}
{{- $digest = ternary $own.digest "" (empty $image.repository) -}}
{{- $tag = default .root.Chart.AppVersion $own.tag -}}
{{- end -}}
{{- if $digest -}}
{{- printf "%s%s@%s" $prefix $repository $digest -}}
{{- else -}}
{{- printf "%s%s:%s" $prefix $repository (toString $tag) -}}
{{- end -}}
{{- end -}}

{{- define "polyad.image" -}}
{{- include "polyad.imageOf" (dict "root" . "image" .Values.image) -}}
{{- end -}}

{{- define "polyad.imagePullSecrets" -}}
{{- with concat (default list .Values.imagePullSecrets) (default list ((.Values.global).imagePullSecrets)) -}}
imagePullSecrets:
{{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name }}{{ else }}{{ . }}{{ end }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "polyad.serviceAccountName" -}}
{{- default (ternary (include "polyad.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "polyad.operatorServiceAccountName" -}}
{{- default (ternary (include "polyad.fullname" .) "default" .Values.operator.serviceAccount.create) .Values.operator.serviceAccount.name -}}
{{- end -}}

{{/* "true" when there is more than one member. */}}
{{- define "polyad.ha" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) -}}true{{- end -}}
{{- end -}}

{{/* "true" when there is a volume of its own for `kind`, raft or backups. Argument: root and kind. */}}
{{- define "polyad.hasVolume" -}}
{{- $volume := get .root.Values.persistence .kind -}}
{{- if and $volume (ne (toString $volume.enabled) "false") -}}true{{- end -}}
{{- end -}}

{{- define "polyad.domain" -}}
{{- printf "%s.%s.svc.%s" (include "polyad.fullname" .) .Release.Namespace .Values.clusterDomain -}}
{{- end -}}

{{/* The server's root path: the parent of the config directory. */}}
{{- define "polyad.rootPath" -}}
{{- dir .Values.polyad.configDirectory -}}
{{- end -}}

{{/* What a person may write in values as text, as it goes out in a file: numbers without an exponent. */}}
{{- define "polyad.text" -}}
{{- if kindIs "float64" . -}}
{{- if eq (floor .) . -}}{{ int64 . }}{{- else -}}{{ . }}{{- end -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}
