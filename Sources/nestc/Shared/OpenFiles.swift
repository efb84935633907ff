/// The file descriptors that this process has open.
enum OpenFiles {
    static func descriptors() throws -> Set<Int32> {
        guard let directory = opendir("/dev/fd") else {
            throw CommandFailure(.configuration, "cannot read /dev/fd: \(errorText(errno))")
        }
        defer { closedir(directory) }
        var descriptors: Set<Int32> = []
        while let entry = readdir(directory) {
            if let descriptor = Int32(entryName(entry)), descriptor != dirfd(directory) {
                descriptors.insert(descriptor)
            }
        }
        return descriptors
    }

    /// Prevents commands that are started from now on from inheriting descriptors that were opened after `inherited`.
    static func keepFromChildren(notIn inherited: Set<Int32>) throws {
        for descriptor in try Self.descriptors() where !inherited.contains(descriptor) {
            // Fails if the descriptor was closed in the meantime. That does not matter.
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }
}

/// Returns the name of a directory entry.
func entryName(_ entry: UnsafeMutablePointer<dirent>) -> String {
    withUnsafeBytes(of: entry.pointee.d_name) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
}
