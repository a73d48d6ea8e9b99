"""What commands read out of files of result lines: one by one, in pairs, and in sum."""
