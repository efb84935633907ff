import Glibc

/// Samples the health of a store's file from outside SQLite: whether it is still the file that was opened, and how much
/// free space its file system has. Sendable: any thread may take a sample.
package struct StoreHealth: Sendable {
    /// One health sample.
    package struct Sample: Sendable {
        /// Free bytes on the store's file system; `nil`: unknown.
        package var freeBytes: Int?
        /// The file was removed, or replaced by another.
        package var failure: StoreError?

        package init(freeBytes: Int?, failure: StoreError? = nil) {
            self.freeBytes = freeBytes
            self.failure = failure
        }
    }

    private struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64

        /// Returns `nil` and sets errno if there is no such file.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            self.device = UInt64(status.st_dev)
            self.inode = UInt64(status.st_ino)
        }
    }

    private let path: String
    private let directory: String
    private let identity: Identity?

    /// Remembers the file of a store that has just been opened.
    init(path: String, directory: String) {
        self.path = path
        self.directory = directory
        self.identity = Identity(path)
    }

    /// Takes a sample. Blocks as long as the file system does.
    package func sample() -> Sample {
        var failure: StoreError?
        if let now = Identity(self.path) {
            if now != self.identity {
                failure = .replaced(path: self.path, reason: "was replaced by another file")
            }
        } else if errno == ENOENT || errno == ENOTDIR {
            failure = .replaced(path: self.path, reason: "was removed or renamed")
        }
        return Sample(freeBytes: Self.freeBytes(self.directory), failure: failure)
    }

    /// Returns the number of bytes that this process may still write in a directory; `nil`: unknown.
    static func freeBytes(_ directory: String) -> Int? {
        var space = statvfs()
        guard statvfs(directory, &space) == 0 else { return nil }
        let (bytes, isTooMany) = UInt64(space.f_bavail).multipliedReportingOverflow(by: UInt64(space.f_frsize))
        return isTooMany ? .max : Int(clamping: bytes)
    }
}
