terraform {
  required_providers {
    vigil = {
      source = "vigil-monitor/vigil"
    }
  }
}

# The address and the key come from VIGIL_URL and VIGIL_API_KEY, or from `vigil login`.
provider "vigil" {
  project        = "shop"
  default_labels = { team = "shop" }
}
