data "vigil_organization" "mine" {}

output "tier" {
  value = data.vigil_organization.mine.tier
}
