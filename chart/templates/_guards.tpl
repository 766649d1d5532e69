{{/* What cannot work is refused here, in a sentence that says what to change. */}}

{{- define "polyad.guards" -}}
{{- $values := .Values -}}
{{- $name := include "polyad.fullname" . -}}
{{- if gt (len $name) 40 -}}
{{- fail (printf "the name %q has %d characters, 40 are allowed: it is part of every peer id and is never cut; use a shorter release name or set fullnameOverride" $name (len $name)) -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "the name %q must start with a letter and hold only a-z, 0-9 and '-': services are named after it; set fullnameOverride" $name) -}}
{{- end -}}
{{- if not (has $values.mode (list "statefulset" "operator" "cluster")) -}}
{{- fail (printf "mode %q: use statefulset, operator or cluster" $values.mode) -}}
{{- end -}}
{{- if ne $values.mode "operator" -}}
{{- include "polyad.databaseGuards" . -}}
{{- end -}}
{{- if eq $values.mode "statefulset" -}}
{{- include "polyad.statefulSetGuards" . -}}
{{- end -}}
{{- if eq $values.mode "cluster" -}}
{{- include "polyad.clusterGuards" . -}}
{{- end -}}
{{- end -}}

{{- define "polyad.databaseGuards" -}}
{{- $values := .Values -}}
{{- $root := $values.polyad.credentials.rootPassword -}}
{{- if and $root.secret.name (empty $root.secret.key) -}}
{{- fail "polyad.credentials.rootPassword.secret.name is set without key: name the key of the Secret that holds the password" -}}
{{- end -}}
{{- if and (eq $root.generate "none") (empty $root.secret.name) -}}
{{- fail "polyad.credentials.rootPassword.generate is none: set secret.name and secret.key to a Secret that holds the password" -}}
{{- end -}}
{{- if and $values.ha.clusterToken.secret.name (empty $values.ha.clusterToken.secret.key) -}}
{{- fail "ha.clusterToken.secret.name is set without key: name the key of the Secret that holds the token" -}}
{{- end -}}
{{- $plugins := include "polyad.plugins" . | fromJson -}}
{{- range $kind := list "podMonitor" "serviceMonitor" "prometheusRule" "grafanaDashboard" -}}
{{- if and (get $values.metrics $kind).enabled (not (hasKey $plugins "prometheus")) -}}
{{- fail (printf "metrics.%s.enabled needs the plugin that serves metrics: set polyad.plugins.prometheus.enabled=true" $kind) -}}
{{- end -}}
{{- end -}}
{{- if $values.autoscaling.enabled -}}
{{- $least := max 3 (add1 (div (int $values.autoscaling.maxReplicas) 2)) | int -}}
{{- if lt (int $values.autoscaling.minReplicas) $least -}}
{{- fail (printf "autoscaling.minReplicas is %d, at least %d is needed: 3, and a majority of maxReplicas (%d)" (int $values.autoscaling.minReplicas) $least (int $values.autoscaling.maxReplicas)) -}}
{{- end -}}
{{- if lt (int $values.autoscaling.maxReplicas) (int $values.autoscaling.minReplicas) -}}
{{- fail (printf "autoscaling.maxReplicas (%d) is less than minReplicas (%d)" (int $values.autoscaling.maxReplicas) (int $values.autoscaling.minReplicas)) -}}
{{- end -}}
{{- end -}}
{{- if and $values.tls.enabled (empty $values.tls.secretName) (ne $values.mode "cluster") -}}
{{- fail "tls.enabled needs tls.secretName: a Secret with tls.crt and tls.key" -}}
{{- end -}}
{{- if and $values.tls.enabled (eq (int $values.tls.port) (int $values.service.http.port)) -}}
{{- fail (printf "tls.port and service.http.port are both %d: one port cannot serve both" (int $values.tls.port)) -}}
{{- end -}}
{{- if and $values.ha.tls.enabled (ne $values.mode "cluster") (empty $values.ha.tls.secretName) (empty $values.ha.tls.certManager.issuerRef) -}}
{{- fail "ha.tls.enabled needs ha.tls.secretName (a Secret with tls.crt, tls.key and ca.crt) or ha.tls.certManager.issuerRef" -}}
{{- end -}}
{{- if and $values.gateway.enabled (empty $values.gateway.parentRefs) -}}
{{- fail "gateway.enabled needs gateway.parentRefs: the Gateway that the route belongs to" -}}
{{- end -}}
{{- end -}}

{{- define "polyad.statefulSetGuards" -}}
{{- $values := .Values -}}
{{- if and (include "polyad.ha" .) (not $values.persistence.enabled) (not $values.ha.allowEphemeral) -}}
{{- fail "replicaCount > 1 with persistence.enabled=false: a member that loses its log may lose acknowledged data; set persistence.enabled=true, or ha.allowEphemeral=true for throw-away clusters" -}}
{{- end -}}
{{- if ne (base $values.polyad.configDirectory) "config" -}}
{{- fail (printf "polyad.configDirectory %q must end with /config: the server looks for it below its root path" $values.polyad.configDirectory) -}}
{{- end -}}
{{- $below := printf "%s/" (include "polyad.rootPath" .) -}}
{{- if not (hasPrefix $below $values.polyad.backupDirectory) -}}
{{- fail (printf "polyad.backupDirectory %q must lie below the server's root path %s (the parent of polyad.configDirectory)" $values.polyad.backupDirectory $below) -}}
{{- end -}}
{{- if not $values.persistence.subPaths -}}
{{- range $key := list "databaseDirectory" "raftStorageDirectory" -}}
{{- if not (hasPrefix $below (get $values.polyad $key)) -}}
{{- fail (printf "polyad.%s %q must lie below %s while persistence.subPaths is false: the volume is mounted there" $key (get $values.polyad $key) $below) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $managed := .Files.Lines "files/managed-settings.txt" -}}
{{- range $key, $_ := include "polyad.userSettings" . | fromJson -}}
{{- if not (hasPrefix "service." $key) -}}
{{- fail (printf "polyad.settings: %q is no full name of a setting, it must start with service." $key) -}}
{{- end -}}
{{- if has $key $managed -}}
{{- fail (printf "polyad.settings: %s is set from other values of the chart (names, ports, directories, passwords, members)" $key) -}}
{{- end -}}
{{- end -}}
{{- $reserved := list "data" "raft" "backups" "scratch" "managed-files" "root-password" "token" "tls" "ha-tls" -}}
{{- range $values.volumes -}}
{{- if has .name $reserved -}}
{{- fail (printf "volumes: the name %q is the chart's own (%s)" .name (join ", " $reserved)) -}}
{{- end -}}
{{- end -}}
{{- range $values.volumeClaimTemplates -}}
{{- if has .metadata.name $reserved -}}
{{- fail (printf "volumeClaimTemplates: the name %q is the chart's own (%s)" .metadata.name (join ", " $reserved)) -}}
{{- end -}}
{{- end -}}
{{- include "polyad.immutableGuard" . -}}
{{- end -}}

{{/* The API server only says that updates are forbidden; this says what to do. */}}
{{- define "polyad.immutableGuard" -}}
{{- if and .Release.IsUpgrade (not .Values.disableLookups) .Values.persistence.enabled -}}
{{- $name := include "polyad.fullname" . -}}
{{- $live := lookup "apps/v1" "StatefulSet" .Release.Namespace $name -}}
{{- range $template := (($live).spec).volumeClaimTemplates -}}
{{- if eq $template.metadata.name "data" -}}
{{- $size := toString $.Values.persistence.size -}}
{{- $present := toString $template.spec.resources.requests.storage -}}
{{- if ne $size $present -}}
{{- fail (printf "persistence.size changes from %s to %s, and claim templates of a StatefulSet are immutable. Grow the claims, make the StatefulSet anew around its running pods, then upgrade again:\n  kubectl -n %s get pvc -l app.kubernetes.io/instance=%s -o name | xargs -I{} kubectl -n %s patch {} -p '{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"%s\"}}}}'\n  kubectl -n %s delete statefulset %s --cascade=orphan" $present $size $.Release.Namespace $.Release.Name $.Release.Namespace $size $.Release.Namespace $name) -}}
{{- end -}}
{{- $class := include "polyad.storageClass" (dict "root" $ "class" $.Values.persistence.storageClass) -}}
{{- if and $class (ne $class (default "" $template.spec.storageClassName)) -}}
{{- fail (printf "persistence.storageClass changes to %s, and volumes cannot change their class: restore a backup into a new release, or set it back to %q" $class (default "" $template.spec.storageClassName)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "polyad.clusterGuards" -}}
{{- $values := .Values -}}
{{- if ne $values.preStop.mode "leave" -}}
{{- fail "preStop.mode has no meaning in mode cluster: the operator hands leadership over and members stay; leave it out" -}}
{{- end -}}
{{- if $values.volumeClaimTemplates -}}
{{- fail "volumeClaimTemplates has no counterpart in a Cluster: leave it out, or use mode statefulset" -}}
{{- end -}}
{{- if $values.lifecycleHooks -}}
{{- fail "lifecycleHooks has no counterpart in a Cluster: leave it out, or use mode statefulset" -}}
{{- end -}}
{{- if $values.gateway.enabled -}}{{- /* rendered beside the object */ -}}{{- end -}}
{{- end -}}

{{- define "polyad.storageClass" -}}
{{- default (default "" ((.root.Values.global).storageClass)) .class -}}
{{- end -}}
