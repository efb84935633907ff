#if canImport(Glibc)
import Glibc
#endif

/// A temporary directory, removed with its contents on deinit.
public final class TemporaryDirectory: Sendable {
    public let path: String

    /// `inMemory`: use a RAM disk, where syncs are cheap, if the machine has one.
    public init(inMemory: Bool = false) {
        let parent = inMemory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(parent)/nest-test-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "cannot create a temporary directory")
        self.path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        Self.remove(self.path)
    }

    private static func remove(_ path: String) {
        guard let directory = opendir(path) else { return }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name != ".", name != ".." else { continue }
            if unlink("\(path)/\(name)") != 0 { Self.remove("\(path)/\(name)") }
        }
        closedir(directory)
        rmdir(path)
    }
}
