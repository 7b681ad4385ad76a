# A thin layer over the Python package: tables go over as columns, and come back with all that R knows of them.

the <- new.env(parent = emptyenv())

python <- function(name) {
  if (is.null(the$shoal)) {
    if (!reticulate::py_module_available("shoal")) {
      stop("the Python package 'shoal-sdc' is not found: install it, and name its Python with ",
           "reticulate::use_python() or RETICULATE_PYTHON", call. = FALSE)
    }
    the$shoal <- reticulate::import("shoal", convert = FALSE)
  }
  the$shoal[[name]]
}

# One column as Python takes it: a list of plain values, gaps as None.
# Days and moments become numbers, a factor becomes its levels; all come back below.
sent <- function(column, name) {
  if (is.list(column) || is.complex(column) || is.raw(column) || !is.null(dim(column))) {
    stop("column '", name, "' is of a kind that no table of microdata holds: ", class(column)[1],
         call. = FALSE)
  }
  plain <- if (is.factor(column)) as.character(column) else unclass(column)
  attributes(plain) <- NULL
  if (is_time(column)) plain <- as.double(plain)
  values <- as.list(plain)
  values[is.na(plain)] <- list(NULL)
  reticulate::r_to_py(unname(values))
}

is_time <- function(column) inherits(column, c("Date", "POSIXct"))

# What Python gives back, as the column was: its class, levels, labels and other attributes.
received <- function(values, column) {
  values <- lapply(values, function(value) if (is.null(value)) NA else value)
  plain <- if (length(values)) unlist(values) else logical()
  if (is.factor(column)) {
    made <- match(as.character(plain), levels(column))
  } else if (is.character(column)) {
    made <- as.character(plain)
  } else if (is.logical(column)) {
    made <- as.logical(plain)
  } else if (is.integer(column) && all(is.na(plain) | plain == round(as.numeric(plain)))) {
    made <- as.integer(plain)
  } else {
    made <- as.double(plain)
  }
  whole <- is_time(column) && all(is.na(column) | unclass(column) == round(unclass(column)))
  if (whole) made <- round(made)  # to days, to seconds
  kept <- attributes(column)
  attributes(made) <- kept[setdiff(names(kept), "names")]
  made
}

arrow <- function(df) {
  if (!is.data.frame(df)) stop("data must be a data.frame or a tibble", call. = FALSE)
  if (anyDuplicated(names(df))) stop("two columns have the same name", call. = FALSE)
  columns <- Map(sent, df, names(df))
  reticulate::import("pyarrow", convert = FALSE)$table(do.call(reticulate::dict, columns))
}

# Types that R knows and Python would have to guess: what has levels is a category.
typed <- function(df, given) {
  known <- lapply(df, function(column) {
    if (is.ordered(column)) "ordinal" else if (is.factor(column) || is.logical(column)) "nominal" else NULL
  })
  utils::modifyList(Filter(Negate(is.null), known), as.list(given))
}

# Python's message, which is one sentence, as R's error.
told <- function(expression) {
  tryCatch(expression, error = function(error) {
    lines <- strsplit(conditionMessage(error), "\n", fixed = TRUE)[[1]]
    stop(sub("^(shoal\\.errors\\.)?\\w+(Error|Failed): ", "", lines[nzchar(lines)][1]), call. = FALSE)
  })
}

protect <- function(df, k, columns = NULL, ..., types = list(), levels = list(), shuffle = FALSE) {
  table <- arrow(df)
  chosen <- if (is.null(columns)) names(df)[vapply(df, is.numeric, logical(1))] else columns
  missing <- setdiff(chosen, names(df))
  if (length(missing)) stop("there is no column '", missing[1], "'", call. = FALSE)
  in_use <- df[intersect(chosen, names(df))]
  ordered <- Filter(is.ordered, in_use)
  options <- list(k = as.integer(k), columns = as.list(chosen), ...)
  types <- typed(in_use, types)
  levels <- utils::modifyList(lapply(ordered, function(column) as.list(base::levels(column))), as.list(levels))
  if (length(types)) options$types <- types
  if (length(levels)) options$levels <- levels
  for (name in c("strata", "unit", "keep", "known", "log")) {
    if (!is.null(options[[name]])) options[[name]] <- as.list(options[[name]])
  }
  if (!is.null(options$seed)) options$seed <- as.integer(options$seed)
  release <- told(do.call(python("microaggregate"), c(list(table), options)))
  made <- reticulate::py_to_r(release$table$to_pydict())
  back <- df[names(df) %in% names(made)]
  for (name in names(back)) back[[name]] <- received(made[[name]], df[[name]])
  if (nrow(back) != nrow(df)) stop("rows were lost", call. = FALSE)
  if (shuffle) {
    back <- back[sample.int(nrow(back)), , drop = FALSE]
    rownames(back) <- NULL
  }
  attr(back, "shoal") <- reticulate::py_to_r(release$summary())
  back
}

outcome <- function(release) {
  told <- attr(release, "shoal")
  if (is.null(told)) stop("this table was not made by protect()", call. = FALSE)
  structure(told, class = "shoal_release")
}

print.shoal_release <- function(x, ...) {
  cat(sprintf("%d records, %d groups of %d to %d %s, %.4g %% lost\n%s\n", x$records, x$groups,
              x$smallest_group, x$largest_group, x$counted, x$information_loss, x$promise))
  for (note in x$notes) cat("note: ", note, "\n", sep = "")
  invisible(x)
}

shoal_methods <- function() {
  rows <- reticulate::py_to_r(python("methods")()$to_frame("pyarrow")$to_pydict())
  as.data.frame(rows, stringsAsFactors = FALSE)
}

shoal_compare <- function(df, k = c(3, 5, 10), methods = "auto", columns = NULL, ...) {
  chosen <- if (is.null(columns)) NULL else as.list(columns)
  made <- told(python("compare")(arrow(df), k = as.list(as.integer(k)), methods = as.list(methods),
                                 columns = chosen, ...))
  rows <- reticulate::py_to_r(made$to_frame("pyarrow")$to_pydict())
  rows$bound <- vapply(rows$bound, function(v) if (is.null(v)) NA_real_ else as.double(v), double(1))
  as.data.frame(rows, stringsAsFactors = FALSE)
}
