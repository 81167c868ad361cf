resource "vigil_api_key" "dashboard" {
  name       = "Dashboard"
  scopes     = ["read"]
  expires_at = "2028-01-01T00:00:00Z"
}

output "dashboard_key" {
  value     = vigil_api_key.dashboard.api_key
  sensitive = true
}
