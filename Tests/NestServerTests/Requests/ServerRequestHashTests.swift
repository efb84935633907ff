import NIOCore
import NestEngine
import NestModel
import NestServer
import NestProtocol
import Testing

@Suite struct ServerRequestHashTests {
    /// A retry may encode the same transaction in other bytes: the wire format allows four lengths of a number.
    @Test func twoEncodingsOfOneTransactionHaveOneHash() throws {
        let transaction = WriteTransaction(
            name: "Plan",
            key: Identifier128(high: 1, low: 2),
            mutations: [.delete(.object(ObjectID(3)))]
        )
        var writer = ByteWriter()
        TransactionMessage(transaction).encode(into: &writer)
        let canonical = writer.bytes
        // Encode the name's length, after the key's 17 bytes, in two bytes.
        var longer = canonical
        longer.replaceSubrange(17...17, with: [0x40, canonical[17]])
        func hash(_ bytes: [UInt8]) throws -> UInt64 {
            let request = try EngineRequest(type: .transaction, body: ByteBuffer(bytes: bytes))
            guard case .transaction(let decoded, let hash) = request else {
                throw NestError(.invalid, "no transaction")
            }
            #expect(decoded == transaction)
            return hash
        }
        var body = ByteWriter()
        body.write(transactionBody: transaction)
        #expect(try hash(canonical) == fnv1a(body.bytes))
        #expect(try hash(longer) == fnv1a(body.bytes))
    }
}
