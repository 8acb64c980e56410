mod summary;
