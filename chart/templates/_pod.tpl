{{/* The pod template of the members. Its names equal the operator's, so that either can take over from the other. */}}

{{- define "polyad.podTemplate" -}}
{{- $values := .Values -}}
metadata:
  labels:
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- include "polyad.selectorLabels" . | nindent 4 }}
    app.kubernetes.io/component: server
  annotations:
    {{- with $values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    checksum/config: {{ include "polyad.restartChecksum" . }}
spec:
  serviceAccountName: {{ include "polyad.serviceAccountName" . }}
  automountServiceAccountToken: {{ $values.serviceAccount.automount }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ int $values.terminationGracePeriodSeconds }}
  {{- with include "polyad.imagePullSecrets" . }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "polyad.affinity" . }}
  affinity:
    {{- . | nindent 4 }}
  {{- end }}
  {{- with $values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $values.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  initContainers:
    - name: config
      image: {{ include "polyad.image" . }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      command: [node, operator/main.ts, install-config]
      {{- with $values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - name: data
          mountPath: /volume
        - name: managed-files
          mountPath: /etc/polyad/config
          readOnly: true
        - name: scratch
          mountPath: /tmp
          subPath: tmp
    {{- with $values.initContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  containers:
    - name: server
      image: {{ include "polyad.image" . }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args:
        {{- range include "polyad.arguments" . | fromJsonArray }}
        - {{ . | quote }}
        {{- end }}
      env:
        - name: POD_NAME
          valueFrom:
            fieldRef:
              apiVersion: v1
              fieldPath: metadata.name
        {{- with $values.polyad.nodeOptions }}
        - name: NODE_OPTIONS
          value: {{ . | quote }}
        {{- end }}
        {{- if $values.polyad.defaultDatabases }}
        - name: SERVICE_SERVER_DEFAULT_DATABASES
          valueFrom:
            secretKeyRef:
              name: {{ include "polyad.fullname" . }}-databases
              key: defaultDatabases
        {{- end }}
        {{- with $values.polyad.extraEnvironment }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        {{- range include "polyad.containerPorts" . | fromJsonArray }}
        - name: {{ .name }}
          containerPort: {{ .port }}
          protocol: TCP
        {{- end }}
      {{- range $kind := list "startupProbe" "livenessProbe" "readinessProbe" }}
      {{- with get $values $kind }}
      {{ $kind }}:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- end }}
      {{- with include "polyad.lifecycle" . }}
      lifecycle:
        {{- . | nindent 8 }}
      {{- end }}
      {{- with $values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        {{- include "polyad.volumeMounts" . | nindent 8 }}
    {{- with $values.sidecars }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "polyad.volumes" . | nindent 4 }}
{{- end -}}

{{/* Ports of the server as a JSON list of {name, port, isClient}. */}}
{{- define "polyad.containerPorts" -}}
{{- $list := list (dict "name" "http" "port" (int .Values.service.http.port) "isClient" true) -}}
{{- if .Values.tls.enabled -}}
{{- $list = append $list (dict "name" "https" "port" (int .Values.tls.port) "isClient" true) -}}
{{- end -}}
{{- $list = append $list (dict "name" "raft" "port" (int .Values.service.rpc.port) "isClient" false) -}}
{{- range $name, $plugin := include "polyad.plugins" . | fromJson -}}
{{- if gt (int $plugin.port) 0 -}}
{{- $list = append $list (dict "name" ($name | lower | trunc 15 | trimSuffix "-") "port" (int $plugin.port) "isClient" true) -}}
{{- end -}}
{{- end -}}
{{- $list | toJson -}}
{{- end -}}

{{- define "polyad.affinity" -}}
{{- if .Values.affinity -}}
{{- toYaml .Values.affinity -}}
{{- else if hasKey .Values "affinity" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: {{ include "polyad.appName" . }}
        topologyKey: kubernetes.io/hostname
{{- end -}}
{{- end -}}

{{- define "polyad.lifecycle" -}}
{{- if .Values.lifecycleHooks -}}
{{- toYaml .Values.lifecycleHooks -}}
{{- else if and (include "polyad.ha" .) (ne .Values.preStop.mode "none") -}}
preStop:
  exec:
    command: [node, operator/main.ts, prestop, --mode={{ .Values.preStop.mode }}, --port={{ int .Values.service.http.port }}, --password-file=/etc/polyad/root/rootPassword]
{{- end -}}
{{- end -}}

{{- define "polyad.volumeMounts" -}}
{{- $values := .Values -}}
{{- $root := include "polyad.rootPath" . -}}
{{- $ha := include "polyad.ha" . -}}
{{- $hasRaft := include "polyad.hasVolume" (dict "root" . "kind" "raft") -}}
{{- if $values.persistence.subPaths -}}
- name: data
  mountPath: {{ $values.polyad.databaseDirectory }}
  subPath: databases
- name: data
  mountPath: {{ $values.polyad.configDirectory }}
  subPath: config
{{- else -}}
- name: data
  mountPath: {{ $root }}
{{- end }}
{{- if include "polyad.hasVolume" (dict "root" . "kind" "backups") }}
- name: backups
  mountPath: {{ $values.polyad.backupDirectory }}
  subPath: backups
{{- else if $values.persistence.subPaths }}
- name: data
  mountPath: {{ $values.polyad.backupDirectory }}
  subPath: backups
{{- end }}
{{- if $ha }}
{{- if $hasRaft }}
- name: raft
  mountPath: {{ $values.polyad.raftStorageDirectory }}
  subPath: raft
{{- else if $values.persistence.subPaths }}
- name: data
  mountPath: {{ $values.polyad.raftStorageDirectory }}
  subPath: raft
{{- end }}
{{- end }}
- name: scratch
  mountPath: {{ $root }}/log
  subPath: log
- name: scratch
  mountPath: /tmp
  subPath: tmp
- name: root-password
  mountPath: /etc/polyad/root
  readOnly: true
{{- if $ha }}
- name: token
  mountPath: /etc/polyad/token
  readOnly: true
{{- if $values.ha.tls.enabled }}
- name: ha-tls
  mountPath: /etc/polyad/ha-tls
  readOnly: true
{{- end }}
{{- end }}
{{- if $values.tls.enabled }}
- name: tls
  mountPath: /etc/polyad/tls
  readOnly: true
{{- end }}
{{- with $values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "polyad.volumes" -}}
{{- $values := .Values -}}
{{- $ha := include "polyad.ha" . -}}
- name: scratch
  emptyDir: {}
- name: managed-files
  configMap:
    name: {{ include "polyad.fullname" . }}-config
- name: root-password
  secret:
    secretName: {{ include "polyad.rootSecretName" . }}
    optional: false
    defaultMode: 288
    items:
      - key: {{ include "polyad.rootSecretKey" . }}
        path: rootPassword
{{- if not $values.persistence.enabled }}
- name: data
  emptyDir: {}
{{- if include "polyad.hasVolume" (dict "root" . "kind" "backups") }}
- name: backups
  emptyDir: {}
{{- end }}
{{- if and $ha (include "polyad.hasVolume" (dict "root" . "kind" "raft")) }}
- name: raft
  emptyDir: {}
{{- end }}
{{- end }}
{{- if $ha }}
- name: token
  secret:
    secretName: {{ include "polyad.tokenSecretName" . }}
    defaultMode: 288
    items:
      - key: {{ include "polyad.tokenSecretKey" . }}
        path: token
{{- if $values.ha.tls.enabled }}
- name: ha-tls
  secret:
    secretName: {{ include "polyad.haTlsSecretName" . }}
    defaultMode: 288
{{- end }}
{{- end }}
{{- if $values.tls.enabled }}
- name: tls
  secret:
    secretName: {{ $values.tls.secretName }}
    defaultMode: 288
{{- end }}
{{- with $values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "polyad.haTlsSecretName" -}}
{{- default (printf "%s-ha-tls" (include "polyad.fullname" .)) .Values.ha.tls.secretName -}}
{{- end -}}

{{/* For short pods of the release, which a quota must be able to count. */}}
{{- define "polyad.smallResources" -}}
requests:
  cpu: 10m
  memory: 64Mi
limits:
  memory: 128Mi
{{- end -}}
