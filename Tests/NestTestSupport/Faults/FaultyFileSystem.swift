import GRDBSQLite
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// An SQLite file system (VFS) in front of the default one. It passes operations on files watched by a `FaultyDisk` to
/// that disk and forwards all others. It becomes the process's default VFS when the first disk watches a directory.
enum FaultyFileSystem {
    private struct Watched {
        weak var disk: FaultyDisk?
    }

    private static let disks = Mutex<[String: Watched]>([:])

    static func watch(_ directory: String, _ disk: FaultyDisk) {
        precondition(self.isRegistered, "SQLite refused the file system")
        self.disks.withLock { $0[directory] = Watched(disk: disk) }
    }

    static func unwatch(_ directory: String) {
        self.disks.withLock { $0[directory] = nil }
    }

    private static func disk(of path: String) -> (FaultyDisk, name: String)? {
        guard let slash = path.lastIndex(of: "/") else { return nil }
        let watched = self.disks.withLock { $0[String(path[..<slash])] }
        guard let disk = watched?.disk else { return nil }
        return (disk, String(path[path.index(after: slash)...]))
    }

    // MARK: The file system

    /// The default file system, read once before this one is registered.
    nonisolated(unsafe) private static let real: UnsafeMutablePointer<sqlite3_vfs> = sqlite3_vfs_find(nil)

    private static let isRegistered: Bool = {
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: Self.real.pointee)
        vfs.pointee.pNext = nil
        vfs.pointee.zName = UnsafePointer(strdup("nest-faults"))
        vfs.pointee.szOsFile += Int32(WatchedFile.headerBytes)
        vfs.pointee.xOpen = { _, name, file, flags, out in FaultyFileSystem.open(name, file, flags, out) }
        vfs.pointee.xDelete = { _, name, syncs in FaultyFileSystem.delete(name, syncs) }
        return sqlite3_vfs_register(vfs, 1) == SQLITE_OK
    }()

    private static func open(
        _ name: UnsafePointer<CChar>?,
        _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ flags: Int32,
        _ out: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let file, let name, let (disk, fileName) = self.disk(of: String(cString: name)) else {
            return self.real.pointee.xOpen(self.real, name, file, flags, out)
        }
        file.pointee.pMethods = nil
        guard disk.strike(.open) == nil else { return SQLITE_CANTOPEN }
        let inner = WatchedFile.inner(file)
        inner.pointee.pMethods = nil
        let result = self.real.pointee.xOpen(self.real, name, inner, flags, out)
        guard result == SQLITE_OK else { return result }
        disk.opened(fileName)
        // As in the default file system, the first sync of a possibly new log also syncs the directory.
        let isLog = flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL) != 0
        let watched = WatchedFile(disk, fileName, syncsDirectory: isLog && flags & SQLITE_OPEN_CREATE != 0)
        WatchedFile.attach(watched, to: file)
        return result
    }

    private static func delete(_ name: UnsafePointer<CChar>?, _ syncs: Int32) -> Int32 {
        guard let name, let (disk, fileName) = self.disk(of: String(cString: name)) else {
            return self.real.pointee.xDelete(self.real, name, syncs)
        }
        guard disk.strike(.delete) == nil else { return SQLiteFailure.delete }
        let result = self.real.pointee.xDelete(self.real, name, syncs)
        if result == SQLITE_OK {
            disk.deleted(fileName)
            if syncs != 0 { disk.record(.syncDirectory) }
        }
        return result
    }
}

/// Extended result codes, which are macros that Swift does not import.
enum SQLiteFailure {
    static let read = SQLITE_IOERR | 1 << 8
    static let write = SQLITE_IOERR | 3 << 8
    static let fsync = SQLITE_IOERR | 4 << 8
    static let truncate = SQLITE_IOERR | 6 << 8
    static let delete = SQLITE_IOERR | 10 << 8
    static let shmsize = SQLITE_IOERR | 19 << 8
}
