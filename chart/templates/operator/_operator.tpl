{{/* Two installations must not share a lease unless they care for the same Clusters. */}}
{{- define "polyad.leaseName" -}}
{{- if or .Values.operator.watchNamespaces .Values.operator.clusterSelector -}}
polyad-operator-{{ .Release.Name }}
{{- else -}}
polyad-operator
{{- end -}}
{{- end -}}

{{/* Cluster-scoped objects carry the namespace too: releases of one name may exist in several. */}}
{{- define "polyad.clusterScopedName" -}}
{{- printf "%s-%s" .Release.Namespace (include "polyad.fullname" .) -}}
{{- end -}}

{{/* Rules of files/permissions.yaml of the given scopes. Arguments: root, scopes. */}}
{{- define "polyad.rules" -}}
{{- $scopes := .scopes -}}
{{- $rules := list -}}
{{- range (.root.Files.Get "files/permissions.yaml" | fromYaml).rules -}}
{{- if has .scope $scopes -}}
{{- $rule := dict "apiGroups" (list .group) "resources" .resources "verbs" .verbs -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- end -}}
{{- $rules | toYaml -}}
{{- end -}}
