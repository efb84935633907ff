#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Why a file with a certificate or a key cannot be read. The TLS library does not say it.
package enum SecretFile {
    package enum Fault: Equatable, CustomStringConvertible {
        case missing
        case unreadable(String)

        package var description: String {
            switch self {
            case .missing: "there is no such file"
            case .unreadable(let reason): reason
            }
        }
    }

    /// Returns the fault of a file; `nil` if it can be read, or is no regular file: a pipe gives its bytes only once,
    /// and they are for the TLS library. Blocks.
    package static func fault(_ path: String) -> Fault? {
        var status = stat()
        if stat(path, &status) == 0, ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) { return nil }
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { if file >= 0 { close(file) } }
        var byte: UInt8 = 0
        // A directory can be opened.
        guard file < 0 || read(file, &byte, 1) < 0 else { return nil }
        let number = errno
        return number == ENOENT ? .missing : .unreadable(String(cString: strerror(number)))
    }
}
