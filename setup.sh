#!/usr/bin/env bash
# Sets up a fresh Debian 12 machine: the system packages that airlink builds and links with, then a release build.
#
#   ./setup.sh              packages, then `cargo build --release --workspace`
#   ./setup.sh --packages   packages only
#
# Needs Rust 1.88 or newer, and root or sudo where a package is missing.
set -euo pipefail
cd "$(dirname "$0")"

# llvm-22-dev does not bring what its own llvm-config lists (Polly, zstd, zlib) nor clang's headers, which bindgen reads.
packages=(
  g++ make git ca-certificates
  llvm-22-dev libmlir-22-dev mlir-22-tools lld-22
  libclang1-22 libclang-common-22-dev libpolly-22-dev libzstd-dev zlib1g-dev
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  echo "installing: ${missing[*]}"
  root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "run as root, or install: ${missing[*]}" >&2; exit 1; }
    root=(sudo)
  fi
  "${root[@]}" apt-get update -qq
  if ! apt-cache show llvm-22-dev >/dev/null 2>&1; then
    echo "this machine's package sources have no llvm-22-dev; add LLVM's own package source for Debian 12" >&2
    exit 1
  fi
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

if ! command -v cargo >/dev/null; then
  echo "Rust is missing: install Rust 1.88 or newer with rustup, then run this again" >&2
  exit 1
fi
version=$(rustc --version | awk '{print $2}')
if [ "$(printf '%s\n' 1.88.0 "$version" | sort -V | head -n 1)" != 1.88.0 ]; then
  echo "Rust $version is too old: airlink needs 1.88 or newer (rustup update)" >&2
  exit 1
fi

[ "${1:-}" = --packages ] || cargo build --release --workspace
