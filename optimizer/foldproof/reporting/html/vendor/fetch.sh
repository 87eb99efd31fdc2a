#!/usr/bin/env bash
# Makes the vendored files of this folder again: dagre (MIT), which lays graphs out, with graphlib inside, as its authors
# built it. Another version is a new number and two new digests here; the tests of the pages say whether it still does.
set -euo pipefail
cd "$(dirname "$0")"

version=3.1.3
package_sha512=X4aUTwOReZvthaZWOVHqlJ52/ZdhZFEM4+Lh/uR4XooUSLE6p71bcy7MPGzYnNUcNh+nj+i/qJQpCMIdQnSmrg==

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
npm pack --silent --pack-destination "$folder" "@dagrejs/dagre@$version"
package=$(echo "$folder"/*.tgz)
[ "$(openssl dgst -sha512 -binary "$package" | base64 -w0)" = "$package_sha512" ] || { echo "not the package" >&2; exit 1; }
tar -xzf "$package" -C "$folder"
# The last line names a file of the debugger's, which a page that stands alone does not have.
sed '/^\/\/# sourceMappingURL=/d' "$folder/package/dist/dagre.min.js" > dagre.min.js
cp "$folder/package/LICENSE" dagre.LICENSE.txt
sha256sum --check <<< "7f751ea7f1695a56c55845e4415b8ce7d65620b10a15bf1ea806f70af10f97f2  dagre.min.js"
