import CLimits
import Foundation
import Testing

extension SocketTests {
    /// The servers that nestbench compares nest with do all of their work, and in order.
    @Suite struct LimitServerTests {
        private static let sizes = nest_limit_sizes(record_bytes: 77, change_bytes: 9, answer_bytes: 29)

        @Test func anEchoReturnsMoreThanASocketHolds() throws {
            let server = try LimitUnderTest { nest_limit_echo($0) }
            let bytes = (0..<(4 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) }
            let socket = try server.connect()
            Thread { socket.send(bytes) }.start()
            #expect(socket.receive(bytes.count) == bytes)
            #expect(server.stop() == nil)
            #expect(socket.receive(1).isEmpty)
        }

        @Test func aRequestInPartsIsAnsweredOnce() throws {
            let server = try LimitUnderTest { nest_limit_answers($0, 10, 5_000) }
            let (socket, other) = (try server.connect(), try server.connect())
            socket.send([UInt8](repeating: 1, count: 4))
            other.send([UInt8](repeating: 1, count: 10))
            #expect(other.receive(5_000).count == 5_000)
            socket.send([UInt8](repeating: 1, count: 6))
            socket.send([UInt8](repeating: 1, count: 10))
            #expect(socket.receive(5_000).count == 5_000)
            #expect(server.stop() == nil)
            #expect(socket.receive(1).isEmpty && other.receive(1).isEmpty)
        }

        /// Records arrive in pieces of all sizes, from two writers.
        @Test func allRecordsReachAllSubscribersInOrder() throws {
            let server = try LimitUnderTest(fanout: Self.sizes)
            let subscribers = try (0..<3).map { _ in try server.connect() }
            let writer = try server.connect()
            let records = (1...500).map { Self.record($0) }
            let bytes = records.flatMap { $0 }
            var (start, piece) = (0, 1)
            while start < bytes.count {
                let end = min(start + piece, bytes.count)
                writer.send(Array(bytes[start..<end]))
                (start, piece) = (end, piece % 200 + 1)
            }
            for _ in records { #expect(writer.frame()?.count == Self.sizes.answer_bytes) }
            // The file had the records before the answers came.
            #expect(server.fileBytes(bytes.count) == bytes)
            let other = try server.connect()
            other.send(Self.record(501))
            #expect(other.frame()?.count == Self.sizes.answer_bytes)
            let seen = subscribers.map { subscriber in
                var frames = [subscriber.frame() ?? []]
                while let last = frames.last, last.count > 0, Self.number(last) < 501 {
                    frames.append(subscriber.frame() ?? [])
                }
                return frames
            }
            #expect(seen[1] == seen[0] && seen[2] == seen[0])
            var number = 0
            for frame in seen[0] {
                let changes = Self.number(frame) - number
                #expect(changes > 0)
                #expect(frame.count == max(changes * Self.sizes.change_bytes, Int(NEST_LIMIT_HEAD_BYTES)))
                number += changes
            }
            #expect(number == 501)
            #expect(server.stop() == nil)
        }

        @Test func aSubscriberThatReadsLateReceivesEverything() throws {
            let (writes, sizes) = (200, nest_limit_sizes(record_bytes: 64, change_bytes: 100_000, answer_bytes: 12))
            let server = try LimitUnderTest(fanout: sizes)
            let late = try server.connect()
            let writer = try server.connect()
            for number in 1...writes {
                writer.send(Self.record(number, byteCount: 64))
                #expect(writer.frame()?.count == 12)
            }
            for number in 1...writes { #expect(late.frame().map(Self.number) == number) }
            #expect(server.stop() == nil)
        }

        @Test func aSubscriberThatNeverReadsIsClosed() throws {
            let sizes = nest_limit_sizes(record_bytes: 64, change_bytes: 1 << 20, answer_bytes: 12)
            let server = try LimitUnderTest(fanout: sizes)
            let (late, writer) = (try server.connect(), try server.connect())
            let writes = Int(NEST_LIMIT_KEPT_BYTES_MAX) / sizes.change_bytes + 16
            for number in 1...writes {
                writer.send(Self.record(number, byteCount: 64))
                #expect(writer.frame()?.count == 12)
            }
            var received = 0
            while late.frame() != nil { received += 1 }
            #expect(received < writes)
            #expect(server.stop() == nil)
        }

        @Test func nothingIsSentThatTheFileDoesNotHave() throws {
            let server = try LimitUnderTest(fanout: Self.sizes, file: nest_limit_file(descriptor: -1, position: 0))
            let (subscriber, writer) = (try server.connect(), try server.connect())
            writer.send(Self.record(1))
            #expect(writer.frame() == nil && subscriber.frame() == nil)
            #expect(server.stop() == "pwrite: Bad file descriptor")
        }

        @Test func sizesOutOfRangeAreRefused() throws {
            let most = Int(NEST_LIMIT_KEPT_BYTES_MAX)
            for (record, change, answer) in [
                (35, 9, 20), (1_025, 9, 20), (64, 9, 11), (64, 9, 1_025), (64, most + 1, 20),
            ] {
                let sizes = nest_limit_sizes(record_bytes: record, change_bytes: change, answer_bytes: answer)
                #expect(try LimitUnderTest(fanout: sizes).stop() == "sizes: Invalid argument")
            }
            for answer in [0, most + 1] {
                #expect(try LimitUnderTest { nest_limit_answers($0, 10, answer) }.stop() == "sizes: Invalid argument")
            }
        }

        @Test func aDiffThatIsTooLargeEndsTheServer() throws {
            let most = Int(NEST_LIMIT_KEPT_BYTES_MAX)
            let sizes = nest_limit_sizes(record_bytes: 64, change_bytes: most, answer_bytes: 12)
            let server = try LimitUnderTest(fanout: sizes)
            let writer = try server.connect()
            writer.send(Self.record(1, byteCount: 64) + Self.record(2, byteCount: 64))
            #expect(writer.frame() == nil)
            #expect(server.stop() == "diff: Message too long")
        }

        @Test func aFullFileIsWrittenFromItsStart() throws {
            var file = nest_limit_file()
            #expect(nest_limit_file_open(&file, NSTemporaryDirectory()) == nil)
            defer { nest_limit_file_close(&file) }
            let most = Int(NEST_LIMIT_FILE_BYTES)
            let bytes = [UInt8](repeating: 9, count: most)
            #expect(nest_limit_file_write(&file, bytes, 100) == nil && file.position == 100)
            #expect(nest_limit_file_write(&file, bytes, most) == nil && file.position == most)
            #expect(nest_limit_file_write(&file, bytes, 7) == nil && file.position == 7)
            let failure = nest_limit_file_write(&file, bytes + [1], most + 1)
            #expect(failure != nil && errno == EINVAL)
            #expect(lseek(file.descriptor, 0, SEEK_END) == most)
            #expect(nest_limit_file_open(&file, "/proc/nowhere").map { String(cString: $0) } == "mkostemp")
        }

        /// A frame whose bytes after the header begin with a number.
        private static func record(_ number: Int, byteCount: Int = Self.sizes.record_bytes) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: byteCount)
            bytes[3] = UInt8(byteCount - Int(NEST_LIMIT_HEADER_BYTES))
            (bytes[12], bytes[13]) = (UInt8(number >> 8), UInt8(number & 0xff))
            for index in 14..<byteCount { bytes[index] = UInt8((number + index) & 0xff) }
            return bytes
        }

        private static func number(_ frame: [UInt8]) -> Int { Int(frame[12]) << 8 | Int(frame[13]) }
    }
}
