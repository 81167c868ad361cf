data "vigil_regions" "all" {}

output "online" {
  value = [for one in data.vigil_regions.all.regions : one.key if one.status == "online"]
}
