import NestModel
import NestProtocol
import NestSecrets

/// Large values: attributes of the types `largeData` and `largeText`, whose bytes are outside the rows.
extension NestClient {
    /// Reads a large value of an object while `body` runs.
    ///
    /// - Parameters:
    ///   - object: The object.
    ///   - property: Its attribute of the type `largeData` or `largeText`.
    ///   - offset: The first byte. Continue a read that was interrupted there, if `value` is still the same: the object
    ///     may have another value meanwhile.
    ///   - atLeast: The revision that the server must have reached.
    ///   - body: Reads the parts. The transfer ends when it returns.
    public func value<Result>(
        of object: ObjectID,
        _ property: PropertyNumber,
        from offset: Int = 0,
        atLeast: Revision = Revision(0),
        _ body: (LargeValueBytes) async throws -> Result
    ) async throws -> Result {
        try await self.connect()
        let core = self.core
        try await core.requireLargeValues()
        let token = await core.newToken()
        let stream = TransferStream(credit: await core.initialCredit)
        let message = GetValue(object, property, from: offset, atLeast: atLeast)
        await core.begin(OutgoingRequest(owner: .caller(token), kind: .download, message), token, stream)
        // Cancels the transfer if `body` ends early. Has no effect after the end.
        defer { core.enqueue { $0.leave(token) } }
        let start = try await stream.valueStart()
        return try await body(LargeValueBytes(start, from: offset, stream: stream, token: token, core: core))
    }

    /// Reads a whole large value into memory.
    public func data(of object: ObjectID, _ property: PropertyNumber) async throws -> [UInt8] {
        try await self.value(of: object, property) { bytes in
            var data: [UInt8] = []
            data.reserveCapacity(bytes.value.length)
            for try await part in bytes { data += part }
            return data
        }
    }

    /// Reads a whole large value part by part, and returns what it was. If the connection is lost it goes on where it
    /// was, up to `resumptions` times in a row without a byte.
    ///
    /// Throws CONFLICT if the object gets another value before all parts have arrived.
    ///
    /// - Parameters:
    ///   - object: The object.
    ///   - property: Its attribute of the type `largeData` or `largeText`.
    ///   - atLeast: The revision that the server must have reached.
    ///   - resumptions: How often it begins again without a byte in between.
    ///   - write: Takes the next part, the number of bytes so far, and the value.
    public func readValue(
        of object: ObjectID,
        _ property: PropertyNumber,
        atLeast: Revision = Revision(0),
        resumptions: Int = 5,
        write: ([UInt8], _ received: Int, LargeValue) async throws -> Void
    ) async throws -> LargeValue {
        var known: LargeValue?
        // Another node may be behind the one that has answered.
        var atLeast = atLeast
        var digest = LargeValueDigest()
        var received = 0
        var attempts = 0
        while true {
            do {
                let value = try await self.value(of: object, property, from: received, atLeast: atLeast) { bytes in
                    guard known == nil || known == bytes.value else {
                        throw NestError(.conflict, "the object has got another value: read it again", object: object)
                    }
                    known = bytes.value
                    atLeast = max(atLeast, bytes.revision)
                    for try await part in bytes {
                        digest.add(part)
                        received += part.count
                        attempts = 0
                        try await write(part, received, bytes.value)
                    }
                    return bytes.value
                }
                guard digest.value == value.digest else {
                    throw NestError(.checksum, "the value was damaged on the way: request it again")
                }
                return value
            } catch let error as NestError where error.code == .connectionLost && attempts < resumptions {
                attempts += 1
            } catch let error as NestError where error.code == .invalid && known != nil {
                // The new value is shorter than what has arrived.
                throw NestError(.conflict, "the object has got another value: read it again", object: object)
            }
        }
    }

    /// Sends the bytes of a large value. Then set the result in a transaction of this client: no object has the value
    /// before. The server forgets a value that is not set within a day.
    ///
    /// - Parameters:
    ///   - type: `.largeData` or `.largeText`.
    ///   - length: The number of bytes.
    ///   - digest: Their SHA-256: see ``LargeValueDigest``.
    ///   - nextPart: Returns the next bytes, any number of them, and `nil` at the end.
    public func send(
        _ type: AttributeType,
        length: Int,
        digest: [UInt8],
        nextPart: () async throws -> [UInt8]?
    ) async throws -> LargeValue {
        guard type.isLarge, digest.count == LargeValue.digestBytes else {
            throw NestError(.invalid, "a large value is largeData or largeText, and has a digest of 32 bytes")
        }
        guard (0...Limits.largeValueBytesMax).contains(length) else {
            throw NestError(.valueTooLarge, "a large value has at most \(Limits.largeValueBytesMax) bytes")
        }
        try await self.connect()
        let core = self.core
        try await core.requireLargeValues()
        let token = await core.newToken()
        let stream = TransferStream(credit: 0)
        var request = OutgoingRequest(
            owner: .caller(token),
            kind: .upload(isEnded: false),
            PutValue(type, length: length, digest: digest)
        )
        request.answer = ExpectedAnswer(ValueMessage.self)
        await core.begin(request, token, stream)
        defer { core.enqueue { $0.leave(token) } }
        let compressor = await core.isCompressionKnown ? Zstandard.Compressor() : nil
        var checksum = SubtreeChecksum()
        var sent = 0
        while let part = try await nextPart() {
            for start in stride(from: 0, to: part.count, by: Self.valueChunkBytes) {
                let bytes = Array(part[start..<min(start + Self.valueChunkBytes, part.count)])
                let chunk = SubtreeChunk(packing: bytes, compressor).bytes
                checksum.add(chunk)
                sent += bytes.count
                try await stream.spend(chunk.count)
                guard await core.sendChunk(token, chunk) else { throw await stream.failure() }
            }
        }
        guard sent == length else {
            throw NestError(.invalid, "the value has \(sent) bytes, but \(length) were announced")
        }
        // Throws the error of a server that has refused the value.
        try await stream.spend(0)
        await core.sendEnd(token, SubtreeEnd(rowCount: length, checksum: checksum.value))
        let reply = try await core.reply(token)
        guard case .answer(let answer) = reply, let message = answer.message as? ValueMessage else {
            throw Self.unexpected(reply)
        }
        return message.value
    }

    /// Sends bytes that are in memory: see `send(_:length:digest:nextPart:)`.
    public func send(_ type: AttributeType, _ bytes: [UInt8]) async throws -> LargeValue {
        var digest = LargeValueDigest()
        digest.add(bytes)
        var isSent = false
        return try await self.send(type, length: bytes.count, digest: digest.value) {
            defer { isSent = true }
            return isSent ? nil : bytes
        }
    }

    private static let valueChunkBytes = 64 << 10
}

/// The SHA-256 of bytes that arrive in parts.
public struct LargeValueDigest: Sendable {
    private var hash = RunningSHA256()

    public init() {}

    public mutating func add(_ bytes: [UInt8]) { self.hash.update(bytes) }

    public var value: [UInt8] { self.hash.digest }
}

extension ClientCore {
    /// Throws if the server does not know large values.
    func requireLargeValues() throws(NestError) {
        guard self.machine.welcome?.features.contains(.largeValues) != true else { return }
        throw NestError(.unsupported, "the server is of an older version and has no large values")
    }
}
