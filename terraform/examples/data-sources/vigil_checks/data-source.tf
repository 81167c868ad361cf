data "vigil_checks" "web" {
  type  = "https"
  label = "team=shop"
}

output "urls" {
  value = data.vigil_checks.web.checks[*].https.url
}
