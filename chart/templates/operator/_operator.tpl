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
{{- $root := .root -}}
{{- $rules := list -}}
{{- range (.root.Files.Get "files/permissions.yaml" | fromYaml).rules -}}
{{- if has .scope $scopes -}}
{{- $rule := dict "apiGroups" (list .group) "resources" .resources "verbs" .verbs -}}
{{- if eq (first .resources) "leases" -}}
{{- /* Creating cannot be limited to a name. */ -}}
{{- $rules = append $rules (set (deepCopy $rule) "verbs" (list "create")) -}}
{{- $_ := set $rule "verbs" (without .verbs "create") -}}
{{- $_ := set $rule "resourceNames" (list (include "polyad.leaseName" $root)) -}}
{{- end -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- end -}}
{{- if has "snapshot" $scopes -}}
{{- $rules = append $rules (dict "apiGroups" (list "snapshot.storage.k8s.io") "resources" (list "volumesnapshots") "verbs" (list "get" "list" "watch" "create" "delete")) -}}
{{- end -}}
{{- $rules | toYaml -}}
{{- end -}}
