data "vigil_locations" "berlin" {
  label = "site=berlin"
}
