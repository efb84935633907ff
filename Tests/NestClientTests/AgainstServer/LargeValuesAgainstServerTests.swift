import ChaosProxy
import NestClient
import NestModel
import NestProtocol
import NestServer
import NestServerTestSupport
import NestStore
import NestTestSupport
import Testing

extension SocketTests {
    /// Large values through the client library and a real server.
    struct LargeValuesAgainstServerTests {
        private static let photo = EntityNumber(1)
        private static let title = PropertyNumber(1)
        private static let image = PropertyNumber(2)
        private static let model = ManagedObjectModel(entities: [
            EntityDescription(
                number: 1,
                name: "Photo",
                attributes: [
                    AttributeDescription(number: 1, name: "title", type: .string),
                    AttributeDescription(number: 2, name: "image", type: .largeData, isOptional: true),
                ],
                relationships: []
            )
        ])

        private static func withClient(_ body: (NestClient) async throws -> Void) async throws {
            try await withServer { configuration in
                configuration.store.model = Self.model
                configuration.largeValueBytesMax = 4 << 20
            } _: { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in try await body(client) }
            }
        }

        private static func insert(_ value: LargeValue?, _ client: NestClient) async throws -> ObjectID {
            var values = [PropertyAssignment(Self.title, .value(.string("a")))]
            if let value { values.append(PropertyAssignment(Self.image, .value(value.value))) }
            let insert = Mutation.insert(entity: Self.photo, values: values, placements: [])
            let receipt = try await client.transaction(WriteTransaction(mutations: [insert]))
            return try #require(receipt.insertedIDs.first)
        }

        private static func set(_ id: ObjectID, _ value: LargeValue, _ client: NestClient) async throws {
            let assignment = PropertyAssignment(Self.image, .value(value.value))
            let update = Mutation.update(.object(id), values: [assignment])
            _ = try await client.transaction(WriteTransaction(mutations: [update]))
        }

        /// Values of many lengths come back, from the front and from any offset.
        @Test func valuesComeBackFromAnyOffset() async throws {
            try await Self.withClient { client in
                var random = SeededRandom(seed: 11)
                for length in [0, 1, 65_535, 65_536, 65_537, 262_144, 700_001, 3_000_000] {
                    let bytes = random.oneIn(2) ? random.bytes(length) : [UInt8](repeating: 7, count: length)
                    let value = try await client.send(.largeData, bytes)
                    #expect(value.length == length)
                    let id = try await Self.insert(value, client)
                    #expect(try await client.data(of: id, Self.image) == bytes)
                    let offset = random.below(length + 1)
                    let rest = try await client.value(of: id, Self.image, from: offset) { part in
                        var rest: [UInt8] = []
                        for try await bytes in part { rest += bytes }
                        return rest
                    }
                    #expect(rest == Array(bytes[offset...]), "from \(offset) of \(length)")
                }
            }
        }

        /// Eight readers and writers at a time: each transfer is whole, and rows have what was set last.
        @Test func transfersOfOneConnectionDoNotDisturbEachOther() async throws {
            try await Self.withClient { client in
                let ids = try await [Self.insert(nil, client), Self.insert(nil, client), Self.insert(nil, client)]
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (number, id) in ids.enumerated() {
                        group.addTask {
                            var random = SeededRandom(seed: UInt64(number))
                            for _ in 0..<6 {
                                let bytes = random.bytes(random.below(400_000))
                                try await Self.set(id, try await client.send(.largeData, bytes), client)
                                #expect(try await client.data(of: id, Self.image) == bytes)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }

        /// Sends bytes, and returns the code with which they are refused.
        private static func refusalOf(
            _ bytes: [UInt8],
            length: Int,
            digest: [UInt8],
            _ client: NestClient
        ) async -> ErrorCode? {
            do {
                var left: [UInt8]? = bytes
                _ = try await client.send(.largeData, length: length, digest: digest) { left.take() }
                return nil
            } catch {
                return (error as? NestError)?.code
            }
        }

        /// Reads a value, and returns the code with which that is refused.
        private static func refusalOf(
            _ id: ObjectID,
            _ property: PropertyNumber,
            from offset: Int = 0,
            _ client: NestClient
        ) async -> ErrorCode? {
            do {
                _ = try await client.value(of: id, property, from: offset) { $0.value }
                return nil
            } catch {
                return (error as? NestError)?.code
            }
        }

        private static func refusal(settingOf id: ObjectID, _ value: AttributeValue, _ client: NestClient) async
            -> ErrorCode?
        {
            do {
                let assignment = PropertyAssignment(Self.image, .value(value))
                let update = Mutation.update(.object(id), values: [assignment])
                _ = try await client.transaction(WriteTransaction(mutations: [update]))
                return nil
            } catch {
                return (error as? NestError)?.code
            }
        }

        @Test func whatIsNotAsStatedIsRefused() async throws {
            try await Self.withClient { client in
                let id = try await Self.insert(nil, client)
                let zeros = [UInt8](repeating: 0, count: 32)
                #expect(await Self.refusalOf([1, 2, 3], length: 3, digest: zeros, client) == .checksum)
                #expect(await Self.refusalOf([1, 2, 3], length: 4, digest: zeros, client) == .invalid)
                // Refused as soon as it is announced.
                let tooLong = [UInt8](repeating: 0, count: 4 << 20 + 1)
                #expect(await Self.refusalOf(tooLong, length: tooLong.count, digest: zeros, client) == .valueTooLarge)
                #expect(await Self.refusalOf(id, Self.image, client) == .notFound)
                #expect(await Self.refusalOf(id, Self.title, client) == .invalid)
                #expect(await Self.refusalOf(ObjectID(99), Self.image, client) == .notFound)
                let value = try await client.send(.largeData, [1, 2, 3])
                try await Self.set(id, value, client)
                #expect(await Self.refusalOf(id, Self.image, from: 4, client) == .invalid)
                // Another object cannot have it, nor can this one have bytes that no session has sent.
                let other = try await Self.insert(nil, client)
                #expect(await Self.refusal(settingOf: other, value.value, client) == .validationFailed)
                #expect(await Self.refusal(settingOf: id, .data([1, 2, 3]), client) == .validationFailed)
                #expect(try await client.data(of: id, Self.image) == [1, 2, 3])
            }
        }

        /// What another session has sent is not there for this one.
        @Test func aValueBelongsToTheSessionThatSentIt() async throws {
            try await withServer { configuration in
                configuration.store.model = Self.model
            } _: { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { first in
                    let value = try await first.send(.largeData, [1, 2, 3])
                    try await NestClient.withClient(Fixtures.configuration(port)) { second in
                        let id = try await Self.insert(nil, second)
                        let code = await Self.refusal(settingOf: id, value.value, second)
                        #expect(code == .validationFailed)
                    }
                    _ = try await Self.insert(value, first)
                }
            }
        }

        /// Reads a value through a proxy. `during`: runs behind the parts with these numbers.
        private static func readThroughProxy(
            _ bytes: [UInt8],
            _ during: @escaping (_ part: Int, ChaosProxy, NestClient, ObjectID) async throws -> Void
        ) async throws -> [UInt8] {
            try await withServer { configuration in
                configuration.store.model = Self.model
            } _: { port, _ in
                let proxy = try await ChaosProxy.start(to: .init(port: port))
                var configuration = Fixtures.configuration(await proxy.port)
                configuration.reconnectPauseMax = .milliseconds(20)
                var read: [UInt8] = []
                try await NestClient.withClient(Fixtures.configuration(port)) { writer in
                    let id = try await Self.insert(try await writer.send(.largeData, bytes), writer)
                    try await NestClient.withClient(configuration) { reader in
                        var parts = 0
                        let value = try await reader.readValue(of: id, Self.image) { part, received, value in
                            read += part
                            #expect(received == read.count && value.length == bytes.count)
                            parts += 1
                            try await during(parts, proxy, writer, id)
                        }
                        #expect(value.length == bytes.count)
                    }
                }
                await proxy.stop()
                return read
            }
        }

        /// The connection is lost after several parts, more often than a read may begin again without a byte.
        @Test func aReadGoesOnWhenTheConnectionIsLost() async throws {
            var random = SeededRandom(seed: 12)
            let bytes = random.bytes(3_000_000)
            var losses = 0
            let read = try await Self.readThroughProxy(bytes) { part, proxy, _, _ in
                guard part <= 8 else { return }
                losses += 1
                await proxy.resetAll()
            }
            #expect(read == bytes && losses == 8)
        }

        /// While the connection is lost the object gets another value, as long, longer or shorter.
        @Test(arguments: [3_000_000, 4_000_000, 10]) func aReadThatGoesOnNoticesAnotherValue(length: Int) async throws {
            var random = SeededRandom(seed: 13)
            let (bytes, other) = (random.bytes(3_000_000), random.bytes(length))
            await #expect {
                _ = try await Self.readThroughProxy(bytes) { part, proxy, writer, id in
                    guard part == 2 else { return }
                    try await Self.set(id, try await writer.send(.largeData, other), writer)
                    await proxy.resetAll()
                }
            } throws: { ($0 as? NestError)?.code == .conflict }
        }

        /// A server that is gone for good ends the read.
        @Test func aReadEndsWhenTheServerIsGone() async throws {
            var random = SeededRandom(seed: 14)
            await #expect {
                _ = try await Self.readThroughProxy(random.bytes(3_000_000)) { part, proxy, _, _ in
                    guard part == 1 else { return }
                    await proxy.follow(.fixed(try Faults("refuse")))
                    await proxy.resetAll()
                }
            } throws: { $0 is NestError }
        }

        /// A part that was read before the object got another value is not continued with the other's bytes.
        @Test func aReadDoesNotMixTwoValues() async throws {
            try await Self.withClient { client in
                let id = try await Self.insert(
                    try await client.send(.largeData, [UInt8](repeating: 1, count: 100)),
                    client
                )
                let first = try await client.value(of: id, Self.image) { $0.value }
                try await Self.set(id, try await client.send(.largeData, [UInt8](repeating: 2, count: 100)), client)
                let second = try await client.value(of: id, Self.image, from: 50) { $0.value }
                #expect(first != second && second.length == 100)
            }
        }
    }
}

extension Optional {
    /// Returns the value and leaves `nil`.
    fileprivate mutating func take() -> Wrapped? {
        defer { self = nil }
        return self
    }
}
