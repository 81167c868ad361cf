# By the id, by the project and key of managed_by, or by the name.
terraform import vigil_check.home 01a20525-4da6-769b-8f8d-7b5b84e92b1c
terraform import vigil_check.home key:shop/home
terraform import vigil_check.home "name:Home page"
