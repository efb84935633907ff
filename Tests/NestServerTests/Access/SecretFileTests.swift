import Foundation
import Glibc
import NestSecrets
import NestTestSupport
import Testing

/// Why a file with a certificate or a key cannot be read.
@Suite struct SecretFileTests {
    private let directory = TemporaryDirectory()

    @Test func eachFaultHasItsReason() throws {
        let file = self.directory.path + "/key.pem"
        #expect(SecretFile.fault(file) == .missing)
        try Data("-----BEGIN".utf8).write(to: URL(filePath: file))
        #expect(SecretFile.fault(file) == nil)
        guard case .unreadable? = SecretFile.fault(self.directory.path) else {
            Issue.record("a directory is no file")
            return
        }
    }

    /// A pipe gives its bytes only once: `--tls-key <(pass show key)`.
    @Test func aPipeKeepsItsBytes() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(write(ends[1], "-----", 5) == 5)
        #expect(SecretFile.fault("/dev/fd/\(ends[0])") == nil)
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(read(ends[0], &bytes, 8) == 5)
    }
}
