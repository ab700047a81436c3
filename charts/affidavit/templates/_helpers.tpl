{{- define "affidavit.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "affidavit.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "affidavit.labels" -}}
{{ include "affidavit.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "affidavit.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "affidavit.name" .) }}
{{- end }}

{{- define "affidavit.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* The names clients call it by: the service's, and the ingress's. What settings name comes along. */ -}}
{{- define "affidavit.hosts" -}}
{{- $name := include "affidavit.name" . }}
{{- $hosts := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) }}
{{- if ne (int .Values.service.port) 80 }}
{{- $plain := $hosts }}
{{- range $plain }}{{- $hosts = append $hosts (printf "%s:%d" . (int $.Values.service.port)) }}{{- end }}
{{- end }}
{{- if .Values.ingress.enabled }}{{- $hosts = append $hosts .Values.ingress.host }}{{- end }}
{{- with .Values.settings.MCP_ALLOWED_HOSTS }}{{- $hosts = append $hosts . }}{{- end }}
{{- join "," $hosts }}
{{- end }}
