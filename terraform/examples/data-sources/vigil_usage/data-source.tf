data "vigil_usage" "now" {}

output "keys_left" {
  value = data.vigil_usage.now.limits["api_keys"].limit - data.vigil_usage.now.limits["api_keys"].used
}
