library(testthat)
library(shoal)
test_check("shoal")
