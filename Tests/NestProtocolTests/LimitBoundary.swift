import NIOCore
import NestProtocol
import NestModel
import NestFraming

/// A limit on bytes from a peer, with a function that tests a given size.
struct LimitBoundary: Sendable, CustomStringConvertible {
    let name: String
    /// The error code for a size of one more than the limit.
    let code: ErrorCode
    /// Returns the error code that refuses the given size, or `nil` if the size is accepted.
    let refusal: @Sendable (Int) throws -> ErrorCode?

    var description: String { self.name }

    init(_ name: String, _ code: ErrorCode, _ refusal: @escaping @Sendable (Int) throws -> ErrorCode?) {
        self.name = name
        self.code = code
        self.refusal = refusal
    }

    /// A limit that is tested by encoding and decoding a message of the given size.
    private static func message(
        _ name: String,
        _ code: ErrorCode,
        _ make: @escaping @Sendable (Int) -> any Message
    ) -> LimitBoundary {
        LimitBoundary(name, code) { size in
            let message = make(size)
            do {
                _ = try type(of: message).init(body: ByteBuffer(bytes: message.body))
                return nil
            } catch {
                guard let code = refusalCode(error) else { throw error }
                return code
            }
        }
    }

    private static func transaction(_ mutation: Mutation) -> TransactionMessage {
        TransactionMessage(WriteTransaction(mutations: [mutation]))
    }

    private static func rows(_ fields: ObjectFetchRequest) -> Fetch { Fetch(fields) }

    private static func cluster(_ change: (inout ClusterStatus) -> Void) -> Cluster {
        var status = ClusterStatus(store: "s", node: "a", role: .leader, epoch: 1, position: 1, head: 1)
        change(&status)
        return Cluster(status)
    }

    private static let item = EntityNumber(1)
    private static let one = ObjectReference.object(ObjectID(1))
    private static let property = PropertyNumber(1)

    private static func comparison(_ value: AttributeValue, count: Int = 1) -> Comparison {
        Comparison(
            path: PropertyPath(leaf: .attribute(self.property)),
            operator: count == 1 ? .equal : .isIn,
            values: Array(repeating: value, count: count)
        )
    }

    /// Returns a predicate of so many SUBQUERYs within each other.
    private static func nested(_ count: Int) -> FetchPredicate {
        (0..<count).reduce(FetchPredicate(self.comparison(.string("0")))) { predicate, _ in
            let path = PropertyPath(leaf: .countWhere(self.property, predicate))
            return FetchPredicate(Comparison(path: path, operator: .greater, values: [.integer(0)]))
        }
    }

    /// Returns a predicate of `levels` levels: comparisons joined alternately by "and" and "or".
    private static func deep(_ levels: Int) -> FetchPredicate {
        var predicate = FetchPredicate(self.comparison(.string("0")))
        for level in 1..<levels {
            predicate.nodes.append(.comparison(self.comparison(.string("\(level)"))))
            predicate.nodes.append(level.isMultiple(of: 2) ? .and(2) : .or(2))
        }
        return predicate
    }

    private static func header(length: Int, max: Int) -> ErrorCode? {
        var buffer = ByteBuffer()
        buffer.writeMultipleIntegers(UInt32(length), UInt8(6), UInt8(0), UInt16(0), UInt32(0))
        do throws(WireError) {
            _ = try FrameDecoder(bodyBytesMax: max).next(from: &buffer)
            return nil
        } catch {
            return error.nestError.code
        }
    }

    static let all: [LimitBoundary] = [
        .message("objectIDMax", .malformed) { Fetch(ObjectFetchRequest(entity: item, source: source($0))) },
        .message("valueBytesMax", .valueTooLarge) { size in
            let text = AttributeValue.string(String(repeating: "x", count: size))
            return transaction(.update(one, values: [PropertyAssignment(property, .value(text))]))
        },
        .message("nameBytesMax", .limitExceeded) {
            BeginGroup(name: String(repeating: "x", count: $0))
        },
        .message("presenceBytesMax", .limitExceeded) {
            SetPresence(scope: ObjectID(1), bytes: [UInt8](repeating: 0, count: $0))
        },
        .message("nodeAddressBytesMax", .limitExceeded) {
            ErrorMessage(NestError(.notLeader, "x", leader: String(repeating: "x", count: $0)))
        },
        .message("clusterNodesMax", .limitExceeded) { size in
            let id = Identifier128(high: 0, low: 1)
            let node = ClusterStatus.Node(id: id, name: "a", address: "a:1", version: "1", role: .leader)
            return cluster { $0.nodes = Array(repeating: node, count: size) }
        },
        .message("clusterTextBytesMax", .limitExceeded) { size in
            cluster { $0.log = String(repeating: "x", count: size) }
        },
        .message("mutationsPerTransactionMax", .limitExceeded) {
            TransactionMessage(WriteTransaction(mutations: Array(repeating: .delete(one), count: $0)))
        },
        .message("reservedIDsPerRequestMax", .limitExceeded) { ReserveIDs(count: $0) },
        .message("largeValueBytesMax", .limitExceeded) {
            PutValue(.largeData, length: $0, digest: [UInt8](repeating: 0, count: 32))
        },
        .message("preconditionsPerTransactionMax", .limitExceeded) {
            let precondition = Precondition(object: ObjectID(1), revision: Revision(1))
            return TransactionMessage(
                WriteTransaction(preconditions: Array(repeating: precondition, count: $0), mutations: [.delete(one)])
            )
        },
        .message("relatedPerMutationMax", .limitExceeded) {
            transaction(.setRelated(one, property, Array(repeating: one, count: $0)))
        },
        .message("sortKeysMax", .limitExceeded) {
            rows(ObjectFetchRequest(entity: item, sort: Array(repeating: OrderingTerm(property), count: $0)))
        },
        .message("columnsMax", .limitExceeded) {
            let path = PropertyPath(leaf: .attribute(property))
            return rows(ObjectFetchRequest(entity: item, columns: Array(repeating: path, count: $0)))
        },
        .message("predicateNodesMax", .limitExceeded) {
            let constants = Array(repeating: FetchPredicate.Node.constant(true), count: $0 - 1)
            return rows(ObjectFetchRequest(entity: item, predicate: FetchPredicate(nodes: constants + [.and($0 - 1)])))
        },
        LimitBoundary("predicateDepthMax", .invalidPredicate) {
            guard let entity = ManagedObjectModel.nestedList.entity(item) else { return .unknownEntity }
            return deep($0).faults(for: entity, in: .nestedList).isEmpty ? nil : .invalidPredicate
        },
        .message("subqueryDepthMax", .limitExceeded) { rows(ObjectFetchRequest(entity: item, predicate: nested($0))) },
        .message("predicateValuesMax", .limitExceeded) {
            rows(ObjectFetchRequest(entity: item, predicate: FetchPredicate(comparison(.integer(1), count: $0))))
        },
        LimitBoundary("patternBytesMax", .invalidPredicate) {
            guard let entity = ManagedObjectModel.nestedList.entity(item) else { return .unknownEntity }
            let predicate = FetchPredicate(comparison(.string(String(repeating: "x", count: $0))))
            return predicate.faults(for: entity, in: .nestedList).isEmpty ? nil : .invalidPredicate
        },
        .message("predicateTextBytesMax", .limitExceeded) {
            ParsePredicate(String(repeating: "x", count: $0), of: item)
        },
        .message("zoneNameBytesMax", .limitExceeded) {
            ParsePredicate("", of: item, zone: String(repeating: "x", count: $0))
        },
        .message("pathStepsMax", .malformed) {
            let path = PropertyPath(steps: Array(repeating: property, count: $0), leaf: .object)
            return rows(ObjectFetchRequest(entity: item, columns: [path]))
        },
        .message("totalsMax", .limitExceeded) {
            rows(ObjectFetchRequest(entity: item, totals: Array(repeating: .count, count: $0)))
        },
        .message("outlineExceptionsMax", .limitExceeded) {
            SetExpanded(
                view: Limits.viewIDMin,
                states: Array(repeating: ExpandedState(ObjectID(1), isExpanded: true), count: $0)
            )
        },
        .message("propertiesPerEntityMax", .limitExceeded) {
            let value = PropertyAssignment(property, .value(.null))
            return transaction(.update(one, values: Array(repeating: value, count: $0)))
        },
        .message("historyPageMax", .limitExceeded) {
            GetHistory(before: Revision(0), limit: $0, onlyMine: false)
        },
        .message("coalesceKeyBytesMax", .limitExceeded) {
            let coalescing = Coalescing(key: String(repeating: "x", count: $0), milliseconds: 1)
            return TransactionMessage(WriteTransaction(mutations: [.delete(one)], coalescing: coalescing))
        },
        .message("coalesceMillisecondsMax", .limitExceeded) {
            let coalescing = Coalescing(key: "k", milliseconds: $0)
            return TransactionMessage(WriteTransaction(mutations: [.delete(one)], coalescing: coalescing))
        },
        LimitBoundary("depthMax", .limitExceeded) { levels in
            var reader = SubtreeChunkReader(valueCount: 0)
            // The row of depth n is the (n+1)-th of a chain.
            var left = levels + 1
            do throws(DecodingFailure) {
                while left > 0 {
                    let count = min(left, Limits.chunkRowsMax)
                    var chunk = ByteWriter()
                    chunk.write(count: count)
                    chunk.write(byte: 0)
                    for row in 0..<count { chunk.write(zigzag: row == 0 && left == levels + 1 ? 0 : 1) }
                    _ = try reader.rows(of: chunk.bytes)
                    left -= count
                }
                return nil
            } catch {
                return error.code
            }
        },
        LimitBoundary("chunkRowsMax", .limitExceeded) { count in
            var chunk = ByteWriter()
            chunk.write(count: count)
            chunk.write(byte: 0)
            for _ in 0..<count { chunk.write(zigzag: 0) }
            var reader = SubtreeChunkReader(valueCount: 0)
            do throws(DecodingFailure) {
                _ = try reader.rows(of: chunk.bytes)
                return nil
            } catch {
                return error.code
            }
        },
        LimitBoundary("chunkUnpackedBytesMax", .malformed) { size in
            let zeros = [UInt8](repeating: 0, count: size)
            do throws(DecodingFailure) {
                _ = try SubtreeChunk(packing: zeros, Zstandard.Compressor()).unpacked()
                return nil
            } catch {
                return error.code
            }
        },
        LimitBoundary("frameBytesMax", .frameTooLarge) { header(length: $0, max: Limits.frameBytesMax) },
        LimitBoundary("frameBytesBeforeWelcomeMax", .frameTooLarge) {
            header(length: $0, max: Limits.frameBytesBeforeWelcomeMax)
        },
    ]

    private static func source(_ id: Int) -> FetchSource {
        FetchSource(object: ObjectID(Int64(id)), relationship: self.property)
    }
}
