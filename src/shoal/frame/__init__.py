"""Any dataframe seen alike: its columns, their types, and guesses about their roles."""
