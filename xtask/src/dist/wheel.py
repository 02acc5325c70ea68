# Packs a folder as a wheel: python3 -c … FOLDER WHEEL EPOCH LEVEL
import base64, hashlib, os, sys, time, zipfile

folder, wheel, epoch, level = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
# A zip archive has no times before 1980.
date = time.gmtime(max(epoch, 315532800))[:6]
files = []
for parent, folders, names in os.walk(folder):
    folders.sort()
    for name in names:
        path = os.path.join(parent, name)
        files.append((os.path.relpath(path, folder), path))
# The list of files comes last, as installers expect.
files.sort(key=lambda file: (".dist-info/" in file[0], file[0]))
record = []


def info(name, mode):
    entry = zipfile.ZipInfo(name, date)
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    return entry


beside = wheel + ".part"
with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
    for name, path in files:
        with open(path, "rb") as file:
            content = file.read()
        mode = 0o755 if os.stat(path).st_mode & 0o100 else 0o644
        archive.writestr(info(name, mode), content, compresslevel=level)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(content)}\n")
        if name.endswith(".dist-info/WHEEL"):
            listed = os.path.join(os.path.dirname(name), "RECORD")
    record.append(f"{listed},,\n")
    archive.writestr(info(listed, 0o644), "".join(record), compresslevel=level)
os.replace(beside, wheel)
