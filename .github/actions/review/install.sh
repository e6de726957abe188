#!/bin/sh
# Install this revision of loopx-git into a new folder: sh install.sh /absolute/folder
#
# It is started where a stranger's change may be checked out. So nothing is imported from the current folder or from
# what PYTHON* variables name, the dependencies are those of requirements.txt by version and hash, and the program is
# the one beside this script: no index is asked for it.
set -eu
case ${1-} in
/*) target=$1 ;;
*)
    echo "install.sh: name an absolute folder to install into" >&2
    exit 2
    ;;
esac
case $0 in
*/*) here=$(CDPATH='' cd -- "${0%/*}" && pwd -P) ;;
*) here=$(pwd -P) ;;
esac
root=$(CDPATH='' cd -- "$here/../../.." && pwd -P)
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE PYTHONPLATLIBDIR
# Installers that pip starts itself get no -I.
PYTHONSAFEPATH=1
PYTHONNOUSERSITE=1
export PYTHONSAFEPATH PYTHONNOUSERSITE
# From here on an entry of PATH that is not absolute means the root folder, not the one where we started.
cd /
"${PYTHON:-python3}" -I -m venv --clear "$target"
python=$target/bin/python
"$python" -I -m pip --disable-pip-version-check --no-input install --quiet --require-hashes --no-deps \
    --only-binary :all: --requirement "$here/requirements.txt"
"$python" -I -c 'import pathlib, sys, sysconfig
pathlib.Path(sysconfig.get_path("purelib"), "loopx-git.pth").write_text(sys.argv[1] + "\n", encoding="utf-8")' "$root"
"$python" -I -m loopx_git --version
