data "vigil_location" "office" {
  key = "loc-office"
}
