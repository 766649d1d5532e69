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
{{- $taken := dict -}}
{{- range include "polyad.containerPorts" . | fromJsonArray -}}
{{- $key := get (dict "http" "service.http.port" "https" "tls.port" "raft" "service.rpc.port") .name | default (printf "polyad.plugins.%s.port" .name) -}}
{{- $port := toString .port -}}
{{- if hasKey $taken $port -}}
{{- fail (printf "%s and %s are both %s: one port cannot serve both" $key (get $taken $port) $port) -}}
{{- end -}}
{{- $_ := set $taken $port $key -}}
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

{{/* Claim templates of the chart as a JSON list of {name, size, accessMode, storageClass}; the class may be empty. */}}
{{- define "polyad.claims" -}}
{{- $persistence := .Values.persistence -}}
{{- $wanted := list -}}
{{- if $persistence.enabled -}}
{{- $wanted = append $wanted (dict "name" "data" "of" $persistence) -}}
{{- if and (include "polyad.ha" .) (include "polyad.hasVolume" (dict "root" . "kind" "raft")) -}}
{{- $wanted = append $wanted (dict "name" "raft" "of" $persistence.raft) -}}
{{- end -}}
{{- if include "polyad.hasVolume" (dict "root" . "kind" "backups") -}}
{{- $wanted = append $wanted (dict "name" "backups" "of" $persistence.backups) -}}
{{- end -}}
{{- end -}}
{{- $claims := list -}}
{{- range $wanted -}}
{{- $class := include "polyad.storageClass" (dict "root" $ "class" .of.storageClass) -}}
{{- $size := include "polyad.text" (default $persistence.size .of.size) -}}
{{- $claims = append $claims (dict "name" .name "size" $size "accessMode" (default "ReadWriteOnce" .of.accessMode) "storageClass" $class) -}}
{{- end -}}
{{- $claims | toJson -}}
{{- end -}}

{{/* The API server only says that updates are forbidden; this says what to do. */}}
{{- define "polyad.immutableGuard" -}}
{{- if and .Release.IsUpgrade (not .Values.disableLookups) -}}
{{- $name := include "polyad.fullname" . -}}
{{- $live := lookup "apps/v1" "StatefulSet" .Release.Namespace $name -}}
{{- if $live -}}
{{- $selector := include "polyad.selectorLabels" . | fromYaml -}}
{{- if ne (toJson $selector) (toJson $live.spec.selector.matchLabels) -}}
{{- fail (printf "nameOverride changes the selector of the StatefulSet from %s to %s, and it is immutable: set nameOverride back, or restore a backup into a new release" (toJson $live.spec.selector.matchLabels) (toJson $selector)) -}}
{{- end -}}
{{- $present := dict -}}
{{- range $live.spec.volumeClaimTemplates -}}
{{- $_ := set $present .metadata.name . -}}
{{- end -}}
{{- /* One server that becomes a group gets another StatefulSet (group-job.yaml). */ -}}
{{- $isNewGroup := and (include "polyad.ha" .) (not (include "polyad.isGroup" $live)) -}}
{{- $wanted := list -}}
{{- range include "polyad.claims" . | fromJsonArray -}}
{{- $wanted = append $wanted .name -}}
{{- $key := ternary "persistence" (printf "persistence.%s" .name) (eq .name "data") -}}
{{- $template := get $present .name -}}
{{- if not $template -}}
{{- if not $isNewGroup -}}
{{- fail (printf "%s: the StatefulSet %s has no claim template %s, and those of a StatefulSet are immutable: take it out, or restore a backup into a new release with it" $key $name .name) -}}
{{- end -}}
{{- else -}}
{{- $size := toString $template.spec.resources.requests.storage -}}
{{- if ne .size $size -}}
{{- fail (printf "%s.size changes from %s to %s, and claim templates of a StatefulSet are immutable. Grow the claims, make the StatefulSet anew around its running pods, then upgrade again:\n  kubectl -n %s get pvc -l app.kubernetes.io/instance=%s -o name | grep /%s-%s- | xargs -I{} kubectl -n %s patch {} -p '{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"%s\"}}}}'\n  kubectl -n %s delete statefulset %s --cascade=orphan" $key $size .size $.Release.Namespace $.Release.Name .name $name $.Release.Namespace .size $.Release.Namespace $name) -}}
{{- end -}}
{{- if and .storageClass (ne .storageClass (default "" $template.spec.storageClassName)) -}}
{{- fail (printf "%s.storageClass changes to %s, and volumes cannot change their class: restore a backup into a new release, or set it back to %q" $key .storageClass (default "" $template.spec.storageClassName)) -}}
{{- end -}}
{{- if not (has .accessMode $template.spec.accessModes) -}}
{{- fail (printf "%s.accessMode changes from %s to %s, and volumes cannot change it: restore a backup into a new release, or set it back" $key (join ", " $template.spec.accessModes) .accessMode) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range list "data" "raft" "backups" -}}
{{- if and (hasKey $present .) (not (has . $wanted)) (not $isNewGroup) -}}
{{- fail (printf "the StatefulSet %s has the claim template %s, and those of a StatefulSet are immutable: keep the values of persistence, or restore a backup into a new release" $name .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" for the StatefulSet of a group. */}}
{{- define "polyad.isGroup" -}}
{{- range (((.spec).template).spec).containers -}}
{{- if has "-Dservice.ha.enabled=true" (default list .args) -}}true{{- end -}}
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
{{- $standard := dict
  "databaseDirectory" "/home/service/databases"
  "configDirectory" "/home/service/config"
  "raftStorageDirectory" "/home/service/raft"
  "backupDirectory" "/home/service/backups" -}}
{{- range $key, $path := $standard -}}
{{- if ne (get $values.polyad $key) $path -}}
{{- fail (printf "polyad.%s has no counterpart in a Cluster, whose members have %s: leave it out" $key $path) -}}
{{- end -}}
{{- end -}}
{{- range $key := list "nodePort" "loadBalancerIP" "sessionAffinity" -}}
{{- if get $values.service.http $key -}}
{{- fail (printf "service.http.%s has no counterpart in a Cluster: leave it out, or make a Service of your own with extraManifests" $key) -}}
{{- end -}}
{{- end -}}
{{- if not $values.persistence.subPaths -}}
{{- fail "persistence.subPaths=false has no counterpart in a Cluster, whose volumes hold directories: leave it out" -}}
{{- end -}}
{{- range $kind := list "raft" "backups" -}}
{{- if (default dict (get $values.persistence $kind)).accessMode -}}
{{- fail (printf "persistence.%s.accessMode has no counterpart in a Cluster, where all volumes have that of persistence.accessMode: leave it out" $kind) -}}
{{- end -}}
{{- end -}}
{{- if ne (toString $values.pdb.maxUnavailable) "1" -}}
{{- fail "pdb.maxUnavailable has no counterpart in a Cluster, where one member may be away: leave it out" -}}
{{- end -}}
{{- if $values.serviceAccount.automount -}}
{{- fail "serviceAccount.automount has no counterpart in a Cluster, whose members have no token: leave it out" -}}
{{- end -}}
{{- range $kind := list "startupProbe" "livenessProbe" "readinessProbe" -}}
{{- if empty (get $values $kind) -}}
{{- fail (printf "%s: a Cluster always has its probes; leave it out for the operator's, or give another one" $kind) -}}
{{- end -}}
{{- end -}}
{{- if and $values.tls.secretName $values.ha.tls.secretName (ne $values.tls.secretName $values.ha.tls.secretName) -}}
{{- fail "tls.secretName and ha.tls.secretName differ, and both ports of a member of a Cluster show one certificate: name one Secret" -}}
{{- end -}}
{{- range $kind := list "podMonitor" "serviceMonitor" -}}
{{- if (get $values.metrics $kind).basicAuth -}}
{{- fail (printf "metrics.%s.basicAuth has no counterpart in a Cluster: set polyad.settings.service\\.prometheus\\.requireAuthentication=false, or make a monitor of your own with extraManifests" $kind) -}}
{{- end -}}
{{- end -}}
{{- if $values.metrics.prometheusRule.rules -}}
{{- fail "metrics.prometheusRule.rules has no counterpart in a Cluster: make a PrometheusRule of your own with extraManifests" -}}
{{- end -}}
{{- end -}}

{{- define "polyad.storageClass" -}}
{{- default (default "" ((.root.Values.global).storageClass)) .class -}}
{{- end -}}
