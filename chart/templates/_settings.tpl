{{/* The server's command line, its files, its plugins. */}}

{{/* Enabled plugins as a JSON map of name to {port, class}; port 0: none. */}}
{{- define "polyad.plugins" -}}
{{- $known := dict "gremlin" 8182 "postgres" 5432 "mongo" 27017 "redis" 6379 "prometheus" 0 -}}
{{- $result := dict -}}
{{- range $name, $plugin := .Values.polyad.plugins -}}
{{- if and $plugin $plugin.enabled -}}
{{- if hasKey $known $name -}}
{{- $port := default (get $known $name) $plugin.port -}}
{{- $_ := set $result $name (dict "port" (int $port) "standard" (get $known $name) "class" (default "" $plugin.class)) -}}
{{- else if or (empty $plugin.port) (empty $plugin.class) -}}
{{- fail (printf "polyad.plugins.%s: a custom plugin needs port and class (known without them: gremlin, postgres, mongo, redis, prometheus)" $name) -}}
{{- else -}}
{{- $_ := set $result $name (dict "port" (int $plugin.port) "standard" (int $plugin.port) "class" $plugin.class) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $result | toJson -}}
{{- end -}}

{{/* Every argument of the server as a JSON list of texts. What changes when the cluster grows stands in the ConfigMap. */}}
{{- define "polyad.arguments" -}}
{{- $values := .Values -}}
{{- $root := include "polyad.rootPath" . -}}
{{- $list := list
  "-Dservice.server.name=$(POD_NAME)"
  (printf "-Dservice.server.rootPath=%s" $root)
  (printf "-Dservice.server.databaseDirectory=%s" $values.polyad.databaseDirectory)
  "-Dservice.server.rootPasswordPath=/etc/polyad/root/rootPassword"
  (printf "-Dservice.server.httpIncomingPort=%d" (int $values.service.http.port)) -}}
{{- if ne $values.polyad.backupDirectory (printf "%s/backups" $root) -}}
{{- $list = append $list (printf "-Dservice.server.backupDirectory=.%s" (trimPrefix $root $values.polyad.backupDirectory)) -}}
{{- end -}}
{{- with include "polyad.plugins" . | fromJson -}}
{{- $names := list -}}
{{- range $name, $plugin := . -}}
{{- $names = append $names (ternary $name (printf "%s:%s" $name $plugin.class) (empty $plugin.class)) -}}
{{- if ne (int $plugin.port) (int $plugin.standard) -}}
{{- $list = append $list (printf "-Dservice.%s.port=%d" $name (int $plugin.port)) -}}
{{- end -}}
{{- end -}}
{{- $list = append $list (printf "-Dservice.server.plugins=%s" (join "," $names)) -}}
{{- end -}}
{{- if $values.tls.enabled -}}
{{- $list = concat $list (list
  "-Dservice.ssl.enabled=true"
  (printf "-Dservice.server.httpsIncomingPort=%d" (int $values.tls.port))
  "-Dservice.ssl.keyStore=/etc/polyad/tls") -}}
{{- end -}}
{{- if include "polyad.ha" . -}}
{{- $list = concat $list (fromJsonArray (include "polyad.haArguments" .)) -}}
{{- end -}}
{{- range $values.polyad.extraCommands -}}
{{- $list = append $list (toString .) -}}
{{- end -}}
{{- $list | toJson -}}
{{- end -}}

{{- define "polyad.haArguments" -}}
{{- $ha := .Values.ha -}}
{{- $requires := ternary true $ha.readinessRequiresHA (kindIs "invalid" $ha.readinessRequiresHA) -}}
{{- $list := list
  "-Dservice.ha.enabled=true"
  "-Dservice.ha.k8s=true"
  (printf "-Dservice.ha.k8sSuffix=.%s" (include "polyad.domain" .))
  (printf "-Dservice.ha.raftPort=%d" (int .Values.service.rpc.port))
  (printf "-Dservice.ha.raftStorageDirectory=%s" .Values.polyad.raftStorageDirectory)
  "-Dservice.ha.clusterTokenPath=/etc/polyad/token/token"
  (printf "-Dservice.server.readinessRequiresHA=%t" $requires)
  (printf "-Dservice.server.readinessHAMaxLag=%d" (int $ha.readinessMaxLag)) -}}
{{- if $ha.tls.enabled -}}
{{- $list = concat $list (list
  "-Dservice.ha.tls.enabled=true"
  "-Dservice.ha.tls.certChainFile=/etc/polyad/ha-tls/tls.crt"
  "-Dservice.ha.tls.privateKeyFile=/etc/polyad/ha-tls/tls.key"
  "-Dservice.ha.tls.trustCertCollectionFile=/etc/polyad/ha-tls/ca.crt"
  (printf "-Dservice.ha.tls.mutualAuth=%t" $ha.tls.mutualAuth)) -}}
{{- end -}}
{{- $list | toJson -}}
{{- end -}}

{{/* One entry for every member there may be. */}}
{{- define "polyad.serverList" -}}
{{- $members := ternary (int .Values.autoscaling.maxReplicas) (int .Values.replicaCount) .Values.autoscaling.enabled -}}
{{- $list := list -}}
{{- range $ordinal := until $members -}}
{{- $list = append $list (printf "%s-%d.%s:%d:%d" (include "polyad.fullname" $) $ordinal (include "polyad.domain" $) (int $.Values.service.rpc.port) (int $.Values.service.http.port)) -}}
{{- end -}}
{{- join "," $list -}}
{{- end -}}

{{/* Settings of the user as a JSON map of texts. */}}
{{- define "polyad.userSettings" -}}
{{- $settings := dict -}}
{{- range $key, $value := merge (dict) (default dict .Values.ha.settings) (default dict .Values.polyad.settings) -}}
{{- $_ := set $settings $key (include "polyad.text" $value) -}}
{{- end -}}
{{- $settings | toJson -}}
{{- end -}}

{{- define "polyad.serviceJson" -}}
{{- $settings := include "polyad.userSettings" . | fromJson -}}
{{- if include "polyad.ha" . -}}
{{- $_ := set $settings "service.ha.serverList" (include "polyad.serverList" .) -}}
{{- end -}}
{{- $settings | toPrettyJson -}}
{{- end -}}

{{/* Changes when a setting changes that needs a restart; the list of members does not, nor what a server takes over live. */}}
{{- define "polyad.restartChecksum" -}}
{{- $hot := .Files.Lines "files/hot-settings.txt" -}}
{{- $settings := dict -}}
{{- range $key, $text := include "polyad.userSettings" . | fromJson -}}
{{- if not (has $key $hot) -}}
{{- $_ := set $settings $key $text -}}
{{- end -}}
{{- end -}}
{{- $settings | toJson | sha256sum -}}
{{- end -}}

{{- define "polyad.backupJson" -}}
{{- mergeOverwrite (dict "version" 1) (deepCopy .Values.backup) | toPrettyJson -}}
{{- end -}}
