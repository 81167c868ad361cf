{{/* SPDX-License-Identifier: Apache-2.0 */ -}}

{{/* vigil.name is what every object of the release is called, with a suffix. */ -}}
{{- define "vigil.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-vigil" (.Release.Name | trunc 34 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{/* vigil.selector are the labels by which a role's pods are found: root, role. */ -}}
{{- define "vigil.selector" -}}
app.kubernetes.io/name: vigil
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .role | quote }}
{{- end -}}

{{- define "vigil.labels" -}}
{{ include "vigil.selector" . }}
app.kubernetes.io/version: {{ .root.Values.image.tag | default .root.Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | quote }}
{{- end -}}

{{- define "vigil.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "vigil.name" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* vigil.image: root, repository, tag. */ -}}
{{- define "vigil.image" -}}
{{- printf "%s:%s" .repository (.tag | default .root.Values.image.tag | default .root.Chart.AppVersion) -}}
{{- end -}}

{{/* vigil.data are the settings that are no secrets. What the chart sets wins, since its ports and mounts depend on it. */ -}}
{{- define "vigil.data" -}}
{{- $data := dict "VIGIL_DATA_DIR" "/data" "VIGIL_LISTEN" "0.0.0.0:8080" -}}
{{- if .Values.metrics.enabled -}}
{{- $_ := set $data "VIGIL_METRICS_LISTEN" "0.0.0.0:9464" -}}
{{- end -}}
{{- with .Values.publicURL -}}
{{- $_ := set $data "VIGIL_PUBLIC_URL" . -}}
{{- end -}}
{{- if eq .Values.mode "roles" -}}
{{- $_ := set $data "TEMPORAL_ADDRESS" (required "temporal.address: the roles need a Temporal cluster, host:port" .Values.temporal.address) -}}
{{- $_ := set $data "TEMPORAL_NAMESPACE" .Values.temporal.namespace -}}
{{- if .Values.temporal.tls.enabled -}}
{{- $_ := set $data "TEMPORAL_TLS" "true" -}}
{{- if .Values.temporal.tls.secret -}}
{{- $_ := set $data "TEMPORAL_TLS_SERVER_CA_CERT_PATH" "/temporal/ca.crt" -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- $_ := set $data "VIGIL_REGIONS" .Values.allInOne.regions -}}
{{- end -}}
{{- toYaml (merge $data .Values.settings) -}}
{{- end -}}

{{/* vigil.secretName, for pods of the release and, with hook, for those of its hooks. */ -}}
{{- define "vigil.secretName" -}}
{{- if .root.Values.secret.existing -}}
{{- .root.Values.secret.existing -}}
{{- else -}}
{{- include "vigil.name" .root }}{{ if .hook }}-hook{{ end -}}
{{- end -}}
{{- end -}}

{{/* vigil.hasSecret is empty where a pod of all-in-one has no secret at all: it makes its own key. */ -}}
{{- define "vigil.hasSecret" -}}
{{- if or .Values.secret.existing .Values.secret.values -}}yes{{- end -}}
{{- end -}}

{{- define "vigil.envFrom" -}}
- configMapRef: {name: {{ include "vigil.name" .root }}{{ if .hook }}-hook{{ end }}}
{{- if include "vigil.hasSecret" .root }}
- secretRef: {name: {{ include "vigil.secretName" . | quote }}}
{{- end }}
{{- end -}}

{{/* vigil.podSecurity: ping is true for pods that probe, which then need no capability for ICMP. */ -}}
{{- define "vigil.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- if .ping }}
sysctls: [{name: net.ipv4.ping_group_range, value: "0 2147483647"}]
{{- end }}
{{- end -}}

{{- define "vigil.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* vigil.mounts: root. Mail of an installation without a mail server is written to /data. */ -}}
{{- define "vigil.mounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: data, mountPath: /data}
{{- if and (eq .root.Values.mode "roles") .root.Values.temporal.tls.enabled .root.Values.temporal.tls.secret }}
- {name: temporal, mountPath: /temporal, readOnly: true}
{{- end }}
{{- end -}}

{{- define "vigil.volumes" -}}
- name: tmp
  emptyDir: {}
- name: data
  emptyDir: {}
{{- if and .root.Values.temporal.tls.enabled .root.Values.temporal.tls.secret }}
- name: temporal
  secret: {secretName: {{ .root.Values.temporal.tls.secret | quote }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{/* vigil.pod are the parts that all pods of the release share: root, role, nodeSelector, grace (seconds to stop). */ -}}
{{- define "vigil.pod" -}}
serviceAccountName: {{ include "vigil.serviceAccount" .root | quote }}
automountServiceAccountToken: false
enableServiceLinks: false # they would set variables such as VIGIL_PORT
terminationGracePeriodSeconds: {{ get . "grace" | default 30 }} # a worker hands over within ten seconds
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .nodeSelector | default .root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ include "vigil.selector" . | nindent 8 }}
{{- end -}}

{{/* vigil.podMetadata restarts the pods when a setting or a secret of the chart changes. */ -}}
{{- define "vigil.podMetadata" -}}
labels: {{ include "vigil.labels" . | nindent 2 }}
{{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
{{- end }}
annotations:
  checksum/settings: {{ printf "%s %s" (include "vigil.data" .root) (toYaml .root.Values.secret.values) | sha256sum | quote }}
{{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* vigil.liveness asks for the metrics: a Postgres that is away must not restart the processes, which wait for it. */ -}}
{{- define "vigil.liveness" -}}
{{- if .Values.metrics.enabled -}}
livenessProbe:
  httpGet: {path: /metrics, port: metrics}
  initialDelaySeconds: 30
  periodSeconds: 20
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}
{{- end -}}

{{- define "vigil.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ printf "%s-%s" (include "vigil.name" .root) .role }}
  labels: {{ include "vigil.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{ include "vigil.selector" . | nindent 6 }}
{{- end -}}

{{/* vigil.mutual names the client certificate where the Secret of temporal.tls has one. */ -}}
{{- define "vigil.mutual" -}}
{{- if and (eq .Values.mode "roles") .Values.temporal.tls.enabled .Values.temporal.tls.mutual }}
- {name: TEMPORAL_TLS_CLIENT_CERT_PATH, value: /temporal/tls.crt}
- {name: TEMPORAL_TLS_CLIENT_KEY_PATH, value: /temporal/tls.key}
{{- end }}
{{- end -}}
