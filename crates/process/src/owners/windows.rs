//! Owners and access lists of files.
//!
//! The user, the system, the administrators and the installer of Windows may do everything to the
//! user's files anyway. All others are "other users".

#![expect(unsafe_code, reason = "calls of the system")]

use std::ffi::{OsStr, c_void};
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::offset_of;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr;

use windows_sys::Win32::Foundation::{GENERIC_ALL, GENERIC_READ, GENERIC_WRITE, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW, GetSecurityInfo,
    SDDL_REVISION_1, SE_FILE_OBJECT,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, DACL_SECURITY_INFORMATION, EqualSid, GetAce,
    GetTokenInformation, INHERIT_ONLY_ACE, IsWellKnownSid, OWNER_SECURITY_INFORMATION,
    PROTECTED_DACL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID, SECURITY_ATTRIBUTES,
    SetFileSecurityW, TOKEN_QUERY, TOKEN_USER, TokenUser, WELL_KNOWN_SID_TYPE,
    WinAuthenticatedUserSid, WinBuiltinAdministratorsSid, WinBuiltinUsersSid,
    WinCreatorOwnerRightsSid, WinCreatorOwnerSid, WinLocalSystemSid, WinWorldSid,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateDirectoryW, DELETE, FILE_APPEND_DATA, FILE_DELETE_CHILD, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_DATA, FILE_WRITE_DATA, READ_CONTROL, WRITE_DAC,
    WRITE_OWNER,
};
use windows_sys::Win32::System::SystemServices::{ACCESS_ALLOWED_ACE_TYPE, ACCESS_DENIED_ACE_TYPE};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use super::{Exposed, FileAccess, Why};
use crate::windows::{owned, size_of};

/// Rights to replace a file or an entry of a folder. The right to add entries is not among them:
/// every user has it on the root of a disk.
const REPLACE: u32 = DELETE | FILE_DELETE_CHILD | WRITE_DAC | WRITE_OWNER | GENERIC_ALL;

/// Rights to change the content of a file, or to add entries to a folder.
const WRITE: u32 = REPLACE | FILE_WRITE_DATA | FILE_APPEND_DATA | GENERIC_WRITE;

const READ: u32 = FILE_READ_DATA | GENERIC_READ | GENERIC_ALL;

/// The account of the installer of Windows, which owns the files of the system.
const TRUSTED_INSTALLER: &str = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464";

/// Access list of private files: the owner, the system and the administrators, here and below.
const PRIVATE: &str = "D:P(A;OICI;FA;;;OW)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";

/// Memory of the system that it wants back.
struct Local(*mut c_void);

impl Drop for Local {
    fn drop(&mut self) {
        // SAFETY: a call of the system allocated it for us, and nothing refers to it any more.
        unsafe {
            LocalFree(self.0);
        }
    }
}

/// Owner and access list of a file.
struct Security {
    owner: PSID,
    /// Null: every user may do everything.
    list: *const ACL,
    user: Vec<u64>,
    /// Holds the owner and the list.
    _descriptor: Local,
}

impl Security {
    fn of(file: &File) -> io::Result<Security> {
        let (mut owner, mut list) = (ptr::null_mut(), ptr::null_mut());
        let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
        // SAFETY: the handle is open, and each result has its place.
        let error = unsafe {
            GetSecurityInfo(
                file.as_raw_handle(),
                SE_FILE_OBJECT,
                OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                &raw mut owner,
                ptr::null_mut(),
                &raw mut list,
                ptr::null_mut(),
                &raw mut descriptor,
            )
        };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error.cast_signed()));
        }
        Ok(Security {
            owner,
            list,
            user: current_user()?,
            _descriptor: Local(descriptor),
        })
    }

    fn user(&self) -> PSID {
        // SAFETY: the system filled the memory with this structure.
        unsafe { (*self.user.as_ptr().cast::<TOKEN_USER>()).User.Sid }
    }

    fn is_user(&self, account: PSID) -> bool {
        // SAFETY: both are accounts of the system.
        unsafe { EqualSid(account, self.user()) != 0 }
    }

    /// Calls `see` with the rights and the account of each entry that allows something.
    fn each_allowed(&self, mut see: impl FnMut(u32, PSID)) {
        // SAFETY: the list lives as long as the descriptor.
        let count = unsafe { (*self.list).AceCount };
        for index in 0..u32::from(count) {
            let mut entry: *mut c_void = ptr::null_mut();
            // SAFETY: the index is inside of the list.
            if unsafe { GetAce(self.list, index, &raw mut entry) } == 0 {
                continue;
            }
            // SAFETY: every entry begins with this header.
            let header = unsafe { *entry.cast::<ACE_HEADER>() };
            let kind = u32::from(header.AceType);
            let is_for_entries_only = u32::from(header.AceFlags) & INHERIT_ONLY_ACE != 0;
            if kind == ACCESS_DENIED_ACE_TYPE || is_for_entries_only {
                continue;
            }
            if kind != ACCESS_ALLOWED_ACE_TYPE {
                // Its form is not known, so it may allow everything to every user.
                see(u32::MAX, ptr::null_mut());
                continue;
            }
            let allowed = entry.cast::<ACCESS_ALLOWED_ACE>();
            // SAFETY: an entry of this type has this form; the account begins at `SidStart`.
            let (rights, account) = unsafe {
                let account = entry.byte_add(offset_of!(ACCESS_ALLOWED_ACE, SidStart));
                ((*allowed).Mask, account)
            };
            see(rights, account);
        }
    }

    /// Returns the rights of other users together, and those of groups that contain every user.
    fn rights_of_others(&self) -> (u32, u32) {
        if self.list.is_null() {
            return (u32::MAX, u32::MAX);
        }
        let (mut others, mut all) = (0, 0);
        self.each_allowed(|rights, account| {
            if account.is_null() {
                others |= rights;
            } else if !self.is_user(account) && !is_of_system(account) && !stands_for_owner(account)
            {
                others |= rights;
                let everybody = [WinWorldSid, WinAuthenticatedUserSid, WinBuiltinUsersSid];
                if everybody.iter().any(|known| is(account, *known)) {
                    all |= rights;
                }
            }
        });
        (others, all)
    }

    fn access(&self) -> FileAccess {
        let (others, all) = self.rights_of_others();
        FileAccess {
            // Files that an administrator makes belong to the group.
            is_ours: self.is_user(self.owner) || is(self.owner, WinBuiltinAdministratorsSid),
            is_of_system: is_of_system(self.owner),
            others_read: others & READ != 0,
            others_write: others & WRITE != 0,
            all_write: all & WRITE != 0,
            others_any: others & (READ | WRITE) != 0,
        }
    }
}

fn is(account: PSID, known: WELL_KNOWN_SID_TYPE) -> bool {
    // SAFETY: the account is one of the system.
    unsafe { IsWellKnownSid(account, known) != 0 }
}

fn is_of_system(account: PSID) -> bool {
    is(account, WinLocalSystemSid)
        || is(account, WinBuiltinAdministratorsSid)
        || name_of(account).as_deref() == Some(TRUSTED_INSTALLER)
}

/// Returns true for the accounts that stand for the owner of a file.
fn stands_for_owner(account: PSID) -> bool {
    is(account, WinCreatorOwnerSid) || is(account, WinCreatorOwnerRightsSid)
}

fn name_of(account: PSID) -> Option<String> {
    let mut text: *mut u16 = ptr::null_mut();
    // SAFETY: the account is one of the system, and the result has its place.
    if unsafe { ConvertSidToStringSidW(account, &raw mut text) } == 0 {
        return None;
    }
    let held = Local(text.cast());
    let mut units = Vec::new();
    // SAFETY: the text ends with NUL.
    unsafe {
        let mut next = text;
        while *next != 0 {
            units.push(*next);
            next = next.add(1);
        }
    }
    drop(held);
    String::from_utf16(&units).ok()
}

/// Returns the `TOKEN_USER` of this process, in memory that is aligned for it.
fn current_user() -> io::Result<Vec<u64>> {
    let mut token = ptr::null_mut();
    // SAFETY: the result has its place; the handle is ours.
    let token: OwnedHandle = unsafe {
        if OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) == 0 {
            return Err(io::Error::last_os_error());
        }
        owned(token)?
    };
    let mut size = 0;
    // SAFETY: without a buffer the call returns the size only.
    unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            ptr::null_mut(),
            0,
            &raw mut size,
        );
    }
    let mut user = vec![0u64; (size as usize).div_ceil(size_of_u64())];
    // SAFETY: the buffer has at least the size that is named.
    let found = unsafe {
        let buffer = user.as_mut_ptr().cast();
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            buffer,
            size,
            &raw mut size,
        )
    };
    if found == 0 || user.is_empty() {
        return Err(io::Error::last_os_error());
    }
    Ok(user)
}

const fn size_of_u64() -> usize {
    std::mem::size_of::<u64>()
}

/// Returns the rights on an open file.
pub(crate) fn file_access(file: &File) -> io::Result<FileAccess> {
    Security::of(file).map(|found| found.access())
}

/// Returns the rights on the file or folder at `path`. Links are followed.
pub(crate) fn path_access(path: &Path) -> io::Result<FileAccess> {
    file_access(&open(path, FILE_FLAG_BACKUP_SEMANTICS)?)
}

/// Returns the rights on the file, folder or link at `path` itself.
pub(crate) fn link_access(path: &Path) -> io::Result<FileAccess> {
    let flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    file_access(&open(path, flags)?)
}

/// Opens a file or a folder to look at its access list.
fn open(path: &Path, flags: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.access_mode(READ_CONTROL).custom_flags(flags);
    options.open(path)
}

/// Implements [`crate::owners::check`]: the real path and every folder above it, and the path as
/// given with its links.
pub(crate) fn check_owners(path: &Path) -> Result<(), Exposed> {
    let unknown = |path: &Path, error: &io::Error| Exposed {
        path: path.to_owned(),
        why: Why::Unknown(error.to_string().to_lowercase()),
    };
    let real = path.canonicalize().map_err(|error| unknown(path, &error))?;
    for place in path.ancestors().chain(real.ancestors()) {
        if place.as_os_str().is_empty() {
            continue;
        }
        let flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
        let security = open(place, flags).and_then(|file| Security::of(&file));
        let security = security.map_err(|error| unknown(place, &error))?;
        let exposed = |why| {
            let path = place.to_owned();
            Err(Exposed { path, why })
        };
        let access = security.access();
        if !access.is_ours && !access.is_of_system {
            return exposed(Why::Foreign);
        }
        let dangerous = if place.is_dir() { REPLACE } else { WRITE };
        if security.rights_of_others().0 & dangerous != 0 {
            return exposed(Why::Others);
        }
    }
    Ok(())
}

/// Returns the descriptor of private files.
fn private() -> io::Result<Local> {
    let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
    let text = wide(OsStr::new(PRIVATE));
    // SAFETY: the text ends with NUL, and the result has its place.
    let made = unsafe {
        ConvertStringSecurityDescriptorToSecurityDescriptorW(
            text.as_ptr(),
            SDDL_REVISION_1,
            &raw mut descriptor,
            ptr::null_mut(),
        )
    };
    if made == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Local(descriptor))
}

/// Creates a folder that only its user can enter.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    let descriptor = private()?;
    let attributes = SECURITY_ATTRIBUTES {
        nLength: size_of::<SECURITY_ATTRIBUTES>(),
        lpSecurityDescriptor: descriptor.0,
        bInheritHandle: 0,
    };
    // SAFETY: the path ends with NUL, and the attributes live until the call returns.
    match unsafe { CreateDirectoryW(wide(path.as_os_str()).as_ptr(), &raw const attributes) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Takes all rights on a file or a folder from other users.
pub(crate) fn restrict(path: &Path) -> io::Result<()> {
    let descriptor = private()?;
    let what = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
    // SAFETY: the path ends with NUL, and the descriptor lives until the call returns.
    match unsafe { SetFileSecurityW(wide(path.as_os_str()).as_ptr(), what, descriptor.0) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain([0]).collect()
}
