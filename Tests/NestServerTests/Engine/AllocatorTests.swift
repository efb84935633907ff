import CJemalloc
import Glibc
import NestServer
import Testing

/// A sanitizer brings an allocator of its own.
private let hasSanitizer = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

@Suite struct AllocatorTests {
    /// A program with the server that is linked in another order would still run, and be slower.
    @Test(.enabled(if: !hasSanitizer)) func jemallocAllocatesWhatTheProgramAllocates() throws {
        let before = try Self.allocatedByThisThread()
        let bytes = [UInt8](repeating: 1, count: 1 << 20)
        let after = try Self.allocatedByThisThread()
        #expect(withExtendedLifetime(bytes) { after - before } >= 1 << 20)
    }

    /// All that this thread has ever allocated.
    private static func allocatedByThisThread() throws -> UInt64 {
        var (bytes, size) = (UInt64(0), MemoryLayout<UInt64>.size)
        try #require(mallctl("thread.allocated", &bytes, &size, nil, 0) == 0)
        return bytes
    }

    /// The number that stands for all arenas is a constant of jemalloc's header, which Swift does not import.
    @Test(.enabled(if: !hasSanitizer)) func allArenasCanBePurged() {
        #expect(mallctl("arena.4096.purge", nil, nil, nil, 0) == 0)
        #expect(mallctl("arena.5000.purge", nil, nil, nil, 0) != 0)
    }
}
