{{/* Generated passwords and tokens: made once, the same at every later render (README, Git tools). */}}

{{- define "polyad.rootSecretName" -}}
{{- with .Values.polyad.credentials.rootPassword.secret -}}
{{- default .generatedName .name -}}
{{- end -}}
{{- end -}}

{{- define "polyad.rootSecretKey" -}}
{{- default "rootPassword" .Values.polyad.credentials.rootPassword.secret.key -}}
{{- end -}}

{{- define "polyad.tokenSecretName" -}}
{{- default (printf "%s-token" (include "polyad.fullname" .)) .Values.ha.clusterToken.secret.name -}}
{{- end -}}

{{- define "polyad.tokenSecretKey" -}}
{{- default "token" .Values.ha.clusterToken.secret.key -}}
{{- end -}}

{{/*
How a generated Secret is made. Arguments: root, secretName. Result: JSON {how, data}, how being
  here     this render holds it, with `data` found in the cluster or, when empty, with a new value
  job      a Job of the release makes it if it is missing
  foreign  it is there and was not made by Helm: it is used as it is
*/}}
{{- define "polyad.secretPlan" -}}
{{- $root := .root -}}
{{- $generate := $root.Values.polyad.credentials.rootPassword.generate -}}
{{- $plan := dict "how" "job" "data" dict -}}
{{- if not $root.Values.disableLookups -}}
{{- $found := lookup "v1" "Secret" $root.Release.Namespace .secretName -}}
{{- if $found -}}
{{- $labels := default dict $found.metadata.labels -}}
{{- $annotations := default dict $found.metadata.annotations -}}
{{- $owner := get $annotations "meta.helm.sh/release-name" -}}
{{- $isByJob := eq (default "" (get $labels "polyad.io/generated-by")) "job" -}}
{{- if $isByJob -}}
{{- $owner = get $labels "app.kubernetes.io/instance" -}}
{{- end -}}
{{- if and $owner (ne $owner $root.Release.Name) -}}
{{- fail (printf "Secret %s belongs to the release %s: set polyad.credentials.rootPassword.secret.generatedName to a name of this release's own" .secretName $owner) -}}
{{- else if or $isByJob (eq $generate "job") -}}
{{- /* stays with the Job */ -}}
{{- else if $owner -}}
{{- $plan = dict "how" "here" "data" (default dict $found.data) -}}
{{- else -}}
{{- $plan = dict "how" "foreign" "data" dict -}}
{{- end -}}
{{- else if eq $generate "job" -}}
{{- /* the Job makes it */ -}}
{{- else if or (eq $generate "lookup") (lookup "v1" "ServiceAccount" $root.Release.Namespace "default") -}}
{{- $plan = dict "how" "here" "data" dict -}}
{{- end -}}
{{- else if eq $generate "lookup" -}}
{{- $plan = dict "how" "here" "data" dict -}}
{{- end -}}
{{- $plan | toJson -}}
{{- end -}}

{{/* Secrets that this release makes, as a JSON list of {name, key, length}. */}}
{{- define "polyad.generatedSecrets" -}}
{{- $list := list -}}
{{- if empty .Values.polyad.credentials.rootPassword.secret.name -}}
{{- $list = append $list (dict "name" (include "polyad.rootSecretName" .) "key" (include "polyad.rootSecretKey" .) "length" 32) -}}
{{- end -}}
{{- if and (include "polyad.ha" .) (empty .Values.ha.clusterToken.secret.name) -}}
{{- $list = append $list (dict "name" (include "polyad.tokenSecretName" .) "key" (include "polyad.tokenSecretKey" .) "length" 43) -}}
{{- end -}}
{{- $list | toJson -}}
{{- end -}}
