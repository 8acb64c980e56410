//! ELF bytes: kernel objects and the manifest section of host ELFs.
