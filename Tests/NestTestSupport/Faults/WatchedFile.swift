import GRDBSQLite

/// An open file watched by a `FaultyDisk`. SQLite's memory for a file holds a pointer to it, followed by the file of
/// the default file system.
final class WatchedFile {
    private let disk: FaultyDisk
    private let name: String
    /// Whether the next sync also syncs the directory.
    private var syncsDirectory: Bool

    init(_ disk: FaultyDisk, _ name: String, syncsDirectory: Bool) {
        self.disk = disk
        self.name = name
        self.syncsDirectory = syncsDirectory
    }

    // MARK: Memory

    private struct Header {
        var file: sqlite3_file
        var watched: Unmanaged<WatchedFile>
    }

    static let headerBytes = 32

    static func inner(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<sqlite3_file> {
        (UnsafeMutableRawPointer(file) + self.headerBytes).assumingMemoryBound(to: sqlite3_file.self)
    }

    static func attach(_ watched: WatchedFile, to file: UnsafeMutablePointer<sqlite3_file>) {
        let header = UnsafeMutableRawPointer(file).assumingMemoryBound(to: Header.self)
        header.pointee.file.pMethods = UnsafePointer(self.methods)
        header.pointee.watched = .passRetained(watched)
    }

    private typealias File = UnsafeMutablePointer<sqlite3_file>

    private static func header(_ file: File?) -> UnsafeMutablePointer<Header> {
        UnsafeMutableRawPointer(file!).assumingMemoryBound(to: Header.self)
    }

    private static func watched(_ file: File?) -> WatchedFile {
        self.header(file).pointee.watched.takeUnretainedValue()
    }

    /// Returns the file of the default file system and its methods.
    private static func real(_ file: File?) -> (file: File, methods: sqlite3_io_methods) {
        let inner = self.inner(file!)
        return (inner, inner.pointee.pMethods.pointee)
    }

    // MARK: Methods

    /// The methods, written once and then only read.
    nonisolated(unsafe) private static let methods: UnsafeMutablePointer<sqlite3_io_methods> = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: sqlite3_io_methods())
        methods.pointee.iVersion = 2
        methods.pointee.xClose = { file in
            let real = WatchedFile.real(file)
            let result = real.methods.xClose(real.file)
            WatchedFile.header(file).pointee.watched.release()
            return result
        }
        methods.pointee.xRead = { file, bytes, count, offset in
            guard WatchedFile.watched(file).disk.strike(.read) == nil else { return SQLiteFailure.read }
            let real = WatchedFile.real(file)
            return real.methods.xRead(real.file, bytes, count, offset)
        }
        methods.pointee.xWrite = { file, bytes, count, offset in
            WatchedFile.write(file, bytes!, count, offset)
        }
        methods.pointee.xTruncate = { file, size in
            let watched = WatchedFile.watched(file)
            guard watched.disk.strike(.truncate) == nil else { return SQLiteFailure.truncate }
            let real = WatchedFile.real(file)
            let result = real.methods.xTruncate(real.file, size)
            if result == SQLITE_OK { watched.disk.record(.truncate(watched.name, size: Int(size))) }
            return result
        }
        methods.pointee.xSync = { file, flags in
            let watched = WatchedFile.watched(file)
            guard watched.disk.strike(.sync) == nil else { return SQLiteFailure.fsync }
            let real = WatchedFile.real(file)
            let result = real.methods.xSync(real.file, flags)
            guard result == SQLITE_OK else { return result }
            watched.disk.record(.sync(watched.name))
            if watched.syncsDirectory { watched.disk.record(.syncDirectory) }
            watched.syncsDirectory = false
            return result
        }
        methods.pointee.xFileSize = { file, size in
            let real = WatchedFile.real(file)
            return real.methods.xFileSize(real.file, size)
        }
        methods.pointee.xLock = { file, level in
            let real = WatchedFile.real(file)
            return real.methods.xLock(real.file, level)
        }
        methods.pointee.xUnlock = { file, level in
            let real = WatchedFile.real(file)
            return real.methods.xUnlock(real.file, level)
        }
        methods.pointee.xCheckReservedLock = { file, result in
            let real = WatchedFile.real(file)
            return real.methods.xCheckReservedLock(real.file, result)
        }
        methods.pointee.xFileControl = { file, operation, argument in
            let real = WatchedFile.real(file)
            return real.methods.xFileControl(real.file, operation, argument)
        }
        methods.pointee.xSectorSize = { file in
            let real = WatchedFile.real(file)
            return real.methods.xSectorSize(real.file)
        }
        methods.pointee.xDeviceCharacteristics = { file in
            let real = WatchedFile.real(file)
            return real.methods.xDeviceCharacteristics(real.file)
        }
        methods.pointee.xShmMap = { file, page, size, extends, result in
            guard WatchedFile.watched(file).disk.strike(.sharedMemory) == nil else { return SQLiteFailure.shmsize }
            let real = WatchedFile.real(file)
            return real.methods.xShmMap(real.file, page, size, extends, result)
        }
        methods.pointee.xShmLock = { file, offset, count, flags in
            let real = WatchedFile.real(file)
            return real.methods.xShmLock(real.file, offset, count, flags)
        }
        methods.pointee.xShmBarrier = { file in
            let real = WatchedFile.real(file)
            real.methods.xShmBarrier(real.file)
        }
        methods.pointee.xShmUnmap = { file, deletes in
            let real = WatchedFile.real(file)
            return real.methods.xShmUnmap(real.file, deletes)
        }
        return methods
    }()

    private static func write(_ file: File?, _ bytes: UnsafeRawPointer, _ count: Int32, _ offset: Int64) -> Int32 {
        let watched = self.watched(file)
        let real = self.real(file)
        func write(_ count: Int32) -> Int32 {
            let result = real.methods.xWrite(real.file, bytes, count, offset)
            if result == SQLITE_OK {
                let copy = [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(count)))
                watched.disk.record(.write(watched.name, offset: Int(offset), copy))
            }
            return result
        }
        switch watched.disk.strike(.write) {
        case nil:
            return write(count)
        case .full:
            if count > 1 { _ = write(count / 2) }
            return SQLITE_FULL
        case .inputOutput:
            return SQLiteFailure.write
        }
    }
}
