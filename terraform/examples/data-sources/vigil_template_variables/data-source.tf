data "vigil_template_variables" "all" {}

output "placeholders" {
  value = data.vigil_template_variables.all.variables[*].placeholder
}
