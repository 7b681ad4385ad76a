firms <- function(n = 60) {
  set.seed(1)
  data.frame(
    turnover = round(exp(rnorm(n, 4)), 1),
    staff = as.integer(rpois(n, 20) + 1),
    sector = factor(sample(c("trade", "food", "steel"), n, TRUE), levels = c("trade", "steel", "food")),
    size = factor(sample(c("low", "mid", "high"), n, TRUE), levels = c("low", "mid", "high"), ordered = TRUE),
    founded = as.Date("2000-01-01") + sample.int(5000, n),
    name = paste0("firm ", seq_len(n) %/% 2),
    open = rep(c(TRUE, FALSE, NA), length.out = n)
  )
}
shared <- function(df) min(table(do.call(paste, c(lapply(df, format, digits = 17), sep = "|"))))
chosen <- c("turnover", "staff")

test_that("every published combination is shared by k", {
  safe <- protect(firms(), 5, chosen, method = "mdav")
  expect_gte(shared(safe[chosen]), 5)
  expect_gte(outcome(safe)$smallest_group, 5)
})

test_that("other columns, classes, names and rows stay as they were", {
  df <- firms()
  safe <- protect(df, 5, chosen, method = "mdav")
  expect_identical(names(safe), names(df))
  expect_identical(lapply(safe, class), lapply(df, class))
  rest <- setdiff(names(df), chosen)
  for (name in rest) expect_identical(safe[[name]], df[[name]])
  expect_type(safe$staff, "integer")
})

test_that("factors, ordered factors and Dates can be protected", {
  df <- firms()
  columns <- c("sector", "size", "founded")
  safe <- protect(df, 4, columns, method = "mdav_generic")
  expect_gte(shared(safe[columns]), 4)
  expect_identical(levels(safe$sector), levels(df$sector))
  expect_identical(levels(safe$size), levels(df$size))
  expect_true(is.ordered(safe$size))
  expect_s3_class(safe$founded, "Date")
  expect_true(all(safe$founded >= min(df$founded) & safe$founded <= max(df$founded)))
  expect_false(anyNA(safe$founded))
})

test_that("moments can be protected, and stay as they are where they are kept", {
  at <- as.POSIXct("2020-01-01", tz = "Europe/Vienna") + 60 * (1:20)
  df <- data.frame(at = at, kept = at + 0.25, pay = 1:20)
  safe <- protect(df, 5, c("at", "pay"), method = "mdav")
  expect_gte(shared(safe[c("at", "pay")]), 5)
  expect_identical(attributes(safe$at), attributes(df$at))
  expect_identical(mean(safe$at), mean(df$at))
  expect_identical(safe$kept, df$kept)
})

test_that("gaps stay gaps where they are kept apart", {
  df <- firms()
  df$turnover[c(1:6)] <- NA
  df$staff[7:12] <- NA_integer_
  safe <- protect(df, 5, chosen, method = "mdav")
  expect_identical(is.na(safe$turnover), is.na(df$turnover))
  expect_identical(is.na(safe$staff), is.na(df$staff))
})

test_that("a tibble comes back as a tibble, and labels stay", {
  skip_if_not_installed("tibble")
  skip_if_not_installed("haven")
  df <- tibble::as_tibble(firms())
  df$staff <- haven::labelled(as.double(df$staff), labels = c(refused = 99), label = "People employed")
  safe <- protect(df, 5, chosen, method = "mdav")
  expect_s3_class(safe, "tbl_df")
  expect_s3_class(safe$staff, "haven_labelled")
  expect_identical(attr(safe$staff, "label"), "People employed")
  expect_identical(attr(safe$staff, "labels"), c(refused = 99))
  expect_identical(names(safe), names(df))
})

test_that("units count, and are dropped", {
  df <- firms()
  safe <- protect(df, 5, "turnover", unit = "name", method = "mdav")
  expect_null(safe$name)
  expect_identical(outcome(safe)$counted, "units")
})

test_that("the same seed gives the same release, and shuffling only moves rows", {
  df <- firms()
  a <- protect(df, 5, chosen, method = "mdav", seed = 3)
  expect_equal(a$turnover, protect(df, 5, chosen, method = "mdav", seed = 3)$turnover)
  expect_equal(sort(protect(df, 5, chosen, method = "mdav", seed = 3, shuffle = TRUE)$turnover),
               sort(a$turnover))
})

test_that("what is wrong is one sentence", {
  df <- firms()
  expect_error(protect(df, 5, "turnovr"), "there is no column 'turnovr'")
  expect_error(protect(df, 1000, chosen), "k=1000")
  expect_error(protect(df, 5, chosen, method = "mdva"), "did you mean")
  expect_error(protect(as.matrix(df[chosen]), 5), "data.frame or a tibble")
  expect_error(outcome(df), "not made by protect")
})

test_that("methods and comparisons are data frames, and an outcome prints its promise", {
  expect_true(all(c("mdav", "auto") %in% shoal_methods()$key))
  tried <- shoal_compare(firms()[chosen], k = c(3, 5), methods = "mdav", bound_time = NULL)
  expect_equal(tried$k, c(3, 5))
  expect_lt(tried$information_loss[1], tried$information_loss[2])
  expect_output(print(outcome(protect(firms(), 5, chosen, method = "mdav"))), "shared by at least 5 records")
})
