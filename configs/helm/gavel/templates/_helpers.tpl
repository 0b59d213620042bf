{{/* Name of everything, at most 52 characters: a StatefulSet adds a hash of 11 characters to it. */}}
{{- define "gavel.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gavel.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gavel.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "gavel.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "gavel.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "gavel.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "gavel.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{/* The scheme of both listeners for clients. */}}
{{- define "gavel.scheme" -}}
{{- if .Values.tls.secret -}}https{{- else -}}http{{- end -}}
{{- end -}}

{{/* Address of the headless service, of which every pod is a name. */}}
{{- define "gavel.peersHost" -}}
{{ include "gavel.fullname" . }}-peers.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end -}}

{{/* The management listener, as the backup reaches it: with TLS by a name of the certificate. */}}
{{- define "gavel.backupURL" -}}
{{- if .Values.backup.url -}}
{{ .Values.backup.url }}
{{- else if .Values.tls.secret -}}
{{ required "backup.url is missing: with tls.secret it is the management listener by a name of its certificate" .Values.publicURL }}
{{- else -}}
http://{{ include "gavel.fullname" . }}-management.{{ .Release.Namespace }}:{{ .Values.service.management.port }}
{{- end -}}
{{- end -}}

{{/* Settings that the chart sets itself, and what sets them. */}}
{{- define "gavel.chartSettings" -}}
node_id: the name of the pod
data_dir: persistence
keys_file: persistence
join: replicas
bootstrap_expect: replicas
auction_listen: the chart
manage_listen: the chart
peer_listen: the chart
peer_advertise: the chart
peer_certificate: peers.tls
peer_key: peers.tls
peer_authority: peers.tls
peer_insecure: peers.tls
auction.tls_certificate: tls.secret
auction.tls_key: tls.secret
management.tls_certificate: tls.secret
management.tls_key: tls.secret
server.plain_http: tls.plainHTTP
server.public_url: publicURL
memory.limit: resources.limits.memory
drain.delay: drainSeconds
admin.email: admin
admin.password_file: admin
{{- end -}}

{{/* Settings that are secret: a ConfigMap is no place for them. */}}
{{- define "gavel.secretSettings" -}}
bootstrap_auction_key: bootstrapKeys.secret
bootstrap_management_key: bootstrapKeys.secret
blob.access_key: secretEnv
blob.secret_key: secretEnv
smtp.password: secretEnv
oidc.client_secret: secretEnv
offsite.connector_secret: secretEnv
sinks.kafka.password: secretEnv
sinks.nats.password: secretEnv
sinks.nats.token: secretEnv
{{- end -}}

{{/* Fails for a setting of .Values.config that belongs elsewhere. */}}
{{- define "gavel.checkConfig" -}}
{{- $config := .Values.config -}}
{{- $elsewhere := merge (include "gavel.chartSettings" . | fromYaml) (include "gavel.secretSettings" . | fromYaml) -}}
{{- range $key, $by := $elsewhere -}}
{{- $path := splitList "." $key -}}
{{- $section := $config -}}
{{- range initial $path -}}
{{- $section = get $section . | default dict -}}
{{- end -}}
{{- if hasKey $section (last $path) -}}
{{- fail (printf "config.%s is not set there but by %s" $key $by) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails for values that contradict each other, or would leave something in plain text that nobody said. */}}
{{- define "gavel.check" -}}
{{- if and (not .Values.tls.secret) (not .Values.tls.plainHTTP) -}}
{{- fail "the listeners have no certificate: set tls.secret to a secret of the type kubernetes.io/tls, or tls.plainHTTP to true if an ingress, a mesh or a private network protects API keys on the way" -}}
{{- end -}}
{{- if and .Values.tls.secret .Values.tls.plainHTTP -}}
{{- fail "tls.secret and tls.plainHTTP are both set: set one of the two" -}}
{{- end -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.peers.tls.secret) -}}
{{- fail (printf "%d replicas need peers.tls.secret: charges and hashes of keys are not sent between machines in plain text; gavel cluster certificates makes the files" (int .Values.replicas)) -}}
{{- end -}}
{{- if ne (empty .Values.admin.email) (empty .Values.admin.secret) -}}
{{- fail "admin.email and admin.secret are needed together" -}}
{{- end -}}
{{- if and .Values.backup.enabled (or (not .Values.backup.dir) (not .Values.backup.keySecret)) -}}
{{- fail "backup.dir and backup.keySecret are needed: where backups are stored, and a management key of the first marketplace" -}}
{{- end -}}
{{- if and .Values.backup.enabled (ne (hasPrefix "/" .Values.backup.dir) (not (empty .Values.backup.claim))) -}}
{{- fail "backup.claim is needed with a directory in backup.dir, and only then: it is the volume that is mounted there" -}}
{{- end -}}
{{- range $name, $ingress := .Values.ingress -}}
{{- if and $ingress.enabled (not $ingress.host) -}}
{{- fail (printf "ingress.%s.host is missing" $name) -}}
{{- end -}}
{{- end -}}
{{- include "gavel.checkConfig" . -}}
{{- end -}}

{{/* Settings as YAML. Helm reads numbers as floats, and toYaml would write 20000000 as 2e+07, which is no size; JSON does not. */}}
{{- define "gavel.yaml" -}}
{{- range $key, $value := . }}
{{- if kindIs "map" $value }}
{{ $key }}:
{{- include "gavel.yaml" $value | trim | nindent 2 }}
{{- else if not (kindIs "invalid" $value) }}
{{ $key }}: {{ toRawJson $value }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Rules of placement: the nodes of a cluster on different machines. */}}
{{- define "gavel.affinity" -}}
{{- if .Values.affinity -}}
{{- toYaml .Values.affinity -}}
{{- else if eq .Values.antiAffinity "hard" -}}
podAntiAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels: {{- include "gavel.selectorLabels" . | nindent 10 }}
{{- else if eq .Values.antiAffinity "soft" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{- include "gavel.selectorLabels" . | nindent 12 }}
{{- end -}}
{{- end -}}

{{/* What the pods of the backup and of the archive have in common: root, name and args of the container. */}}
{{- define "gavel.backupPod" -}}
{{- $values := .root.Values -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext: {{- toYaml $values.podSecurityContext | nindent 2 }}
containers:
  - name: {{ .name }}
    image: {{ include "gavel.image" .root | quote }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    args:
      {{- range .args }}
      - {{ . | quote }}
      {{- end }}
      {{- range $values.backup.encryptTo }}
      - --encrypt-to
      - {{ . | quote }}
      {{- end }}
    {{- with $values.secretEnv }}
    envFrom:
      {{- range . }}
      - secretRef: {name: {{ . }}}
      {{- end }}
    {{- end }}
    env:
      # The settings blob.* of a bucket.
      - {name: GAVEL_CONFIG, value: /etc/gavel/config/gavel.yaml}
      - name: GAVEL_MANAGE
        value: {{ include "gavel.backupURL" .root | quote }}
      - name: GAVEL_MANAGE_KEY
        valueFrom: {secretKeyRef: {name: {{ $values.backup.keySecret }}, key: {{ $values.backup.key }}}}
    resources: {{- toYaml $values.backup.resources | nindent 6 }}
    securityContext: {{- toYaml $values.securityContext | nindent 6 }}
    volumeMounts:
      - {name: config, mountPath: /etc/gavel/config, readOnly: true}
      {{- if $values.backup.claim }}
      - name: backups
        mountPath: {{ $values.backup.dir | quote }}
      {{- end }}
volumes:
  - name: config
    configMap: {name: {{ include "gavel.fullname" .root }}}
  {{- if $values.backup.claim }}
  - name: backups
    persistentVolumeClaim: {claimName: {{ $values.backup.claim }}}
  {{- end }}
{{- end -}}
