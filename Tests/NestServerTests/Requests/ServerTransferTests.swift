import NestEngine
import NestProtocol
import NestModel
import NestServer
import NestStore
import Testing

/// Uploads as values: the test acts as the event loop and as the staging thread.
struct ServerTransferTests {
    private static let request = SubtreeImport(
        entity: EntityNumber(1),
        placement: Placement(
            relationship: PropertyNumber(5),
            owner: .object(ObjectID(1)),
            place: .last
        ),
        properties: [PropertyNumber(1)]
    )

    private static func rows(_ depths: [Int], id: ObjectID? = nil) -> [UInt8] {
        var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: id != nil)
        for depth in depths { writer.append(SubtreeRow(depth: depth, id: id, values: [.string("x")])) }
        return SubtreeChunk(packing: writer.take(), nil).bytes
    }

    private static func stage(budget: Int = 1 << 20) -> UploadStage {
        UploadStage(
            Self.request,
            directory: "/tmp",
            reservation: SpoolReservation(SpoolBudget(bytesMax: budget))
        )
    }

    private static func code(_ action: Upload.Action?) -> ErrorCode? {
        if case .fail(let error)? = action { error.code } else { nil }
    }

    /// Stages the bodies of an action and returns the next action; returns any other action unchanged.
    private static func perform(_ action: Upload.Action, on upload: inout Upload) throws -> Upload.Action {
        guard case .stage(var stage, let bodies) = action else { return action }
        try stage.append(bodies)
        return upload.staged(stage, byteCount: bodies.reduce(0) { $0 + $1.count })
    }

    @Test func chunksWaitWhileOthersAreStaged() throws {
        let first = Self.rows([0, 1]), second = Self.rows([0]), third = Self.rows([0])
        var upload = Upload(Self.request, stage: Self.stage())
        let action = upload.received(chunk: first)
        guard case .none = upload.received(chunk: second), case .none = upload.received(chunk: third) else {
            Issue.record("the stage is in use: expected no action")
            return
        }
        var checksum = SubtreeChecksum()
        for chunk in [first, second, third] { checksum.add(chunk) }
        guard case .none = upload.received(SubtreeEnd(rowCount: 4, checksum: checksum.value)) else {
            Issue.record("the stage is in use: expected no action")
            return
        }
        let next = try Self.perform(action, on: &upload)
        guard case .stage(_, let bodies) = next else {
            Issue.record("expected the other chunks to be staged")
            return
        }
        #expect(bodies == [second, third])
        guard case .commit(let staged) = try Self.perform(next, on: &upload) else {
            Issue.record("expected a commit")
            return
        }
        #expect(staged.rowCount == 4)
        #expect(upload.isCommitting)
        let (chunk, offset) = try #require(try staged.chunks.chunk(at: 0))
        // The staged chunk lacks the first byte, which marks it as uncompressed.
        #expect(chunk == Array(first.dropFirst()))
        #expect(try staged.chunks.chunk(at: offset)?.chunk == Array(second.dropFirst()))
    }

    @Test func anImportEndWithWrongTotalsFails() throws {
        let chunk = Self.rows([0])
        var checksum = SubtreeChecksum()
        checksum.add(chunk)
        for end in [
            SubtreeEnd(rowCount: 2, checksum: checksum.value), SubtreeEnd(rowCount: 1, checksum: checksum.value ^ 1),
        ] {
            var upload = Upload(Self.request, stage: Self.stage())
            _ = try Self.perform(upload.received(chunk: chunk), on: &upload)
            #expect(Self.code(upload.received(end)) == .checksum)
        }
        var empty = Upload(Self.request, stage: Self.stage())
        #expect(Self.code(empty.received(SubtreeEnd(rowCount: 0, checksum: SubtreeChecksum().value))) == .invalid)
    }

    @Test func moreBytesThanTheCreditFail() {
        var upload = Upload(Self.request, stage: Self.stage())
        let chunk = [UInt8](repeating: 0, count: Limits.creditBytesInitial / 2)
        #expect(Self.code(upload.received(chunk: chunk)) == nil)
        #expect(Self.code(upload.received(chunk: chunk)) == nil)
        #expect(Self.code(upload.received(chunk: [0])) == .flowControl)
    }

    /// The engine may already have the upload, whose reply must stay the only one.
    @Test func aChunkOrAnEndAfterTheEndClosesTheConnection() {
        var upload = Upload(Self.request, stage: Self.stage())
        let end = SubtreeEnd(rowCount: 1, checksum: 0)
        _ = upload.received(chunk: Self.rows([0]))
        _ = upload.received(end)
        for action in [upload.received(chunk: Self.rows([0])), upload.received(end)] {
            guard case .close(let error) = action else {
                Issue.record("expected the end of the connection, not \(action)")
                continue
            }
            #expect(error.code == .protocolViolation)
        }
    }

    @Test func rowsThatFormNoTreeAreRefused() {
        func failure(_ bodies: [[UInt8]], budget: Int = 1 << 20) -> ErrorCode? {
            var stage = Self.stage(budget: budget)
            do throws(NestError) {
                try stage.append(bodies)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(failure([Self.rows([0, 1, 2, 0])]) == nil)
        #expect(failure([Self.rows([1])]) == .malformed)
        #expect(failure([Self.rows([0, 2])]) == .malformed)
        #expect(failure([[0, 1, 0]]) == .malformed)
        #expect(failure([[]]) == .malformed)
        #expect(failure([[1, 40, 181, 47, 253]]) == .malformed)
        #expect(failure([[2, 0]]) == .malformed)
        #expect(failure([Self.rows([0], id: ObjectID(7))]) == .invalid)
        #expect(failure([Self.rows([0])], budget: 3) == .busy)
    }

    /// Thirty-six bytes can hold 65,536 rows, so the server limits the rows of an import as well as its bytes.
    @Test func anImportOfTooManyRowsIsRefused() throws {
        var stage = UploadStage(
            Self.request,
            directory: "/tmp",
            reservation: SpoolReservation(SpoolBudget(bytesMax: 1 << 20)),
            rowsMax: 3
        )
        try stage.append([Self.rows([0, 1]), Self.rows([0])])
        #expect(throws: NestError.self) { try stage.append([Self.rows([0])]) }
        do {
            try stage.append([Self.rows([0])])
        } catch {
            #expect(error.code == .limitExceeded, "\(error)")
        }
    }

    /// 65,536 equal rows compress to about 40 bytes and are refused. Uncompressed, or as a client packs them, they are
    /// accepted.
    @Test func rowsPerByteAreLimited() throws {
        func stage() -> UploadStage {
            UploadStage(Self.request, directory: "/tmp", reservation: SpoolReservation(SpoolBudget(bytesMax: 1 << 20)))
        }
        var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: false)
        for _ in 0..<Limits.chunkRowsMax { writer.append(SubtreeRow(depth: 0, id: nil, values: [.string("")])) }
        let rows = writer.take()
        let bomb = SubtreeChunk(packing: rows, Zstandard.Compressor()).bytes
        #expect(bomb.count < 200)
        var refusing = stage()
        do {
            try refusing.append([bomb])
            Issue.record("the chunk was accepted")
        } catch {
            #expect(error.code == .limitExceeded, "\(error)")
        }
        var accepting = stage()
        try accepting.append([SubtreeChunk(packing: rows, nil).bytes])
        try accepting.append([SubtreeChunk(packing: rows, rowCount: Limits.chunkRowsMax, Zstandard.Compressor()).bytes])
    }

    /// What waits for the engine counts until the engine has taken or dropped it.
    @Test func anUploadHoldsItsBytesUntilItIsDropped() throws {
        let budget = SpoolBudget(bytesMax: 1 << 20)
        var value: StagedValue? = try Self.stagedValue(budget)
        #expect(budget.byteCount == 100_000)
        var request: EngineRequest? = .putValue(try #require(value))
        value = nil
        withExtendedLifetime(request) { #expect(budget.byteCount == 100_000) }
        request = nil
        #expect(budget.byteCount == 0)
        var subtree: StagedSubtree? = try Self.stagedSubtree(budget)
        #expect(subtree != nil && budget.byteCount > 0)
        subtree = nil
        #expect(budget.byteCount == 0)
    }

    private static func stagedValue(_ budget: SpoolBudget) throws -> StagedValue {
        let bytes = [UInt8](repeating: 7, count: 100_000)
        let request = PutValue(.largeData, length: bytes.count, digest: [UInt8](repeating: 0, count: 32))
        var stage = UploadStage(request, directory: "/tmp", reservation: SpoolReservation(budget))
        let body = SubtreeChunk(packing: bytes, nil).bytes
        try stage.append([body])
        var checksum = SubtreeChecksum()
        checksum.add(body)
        return try stage.finish(request, length: bytes.count, checksum: checksum.value)
    }

    private static func stagedSubtree(_ budget: SpoolBudget) throws -> StagedSubtree {
        var stage = UploadStage(Self.request, directory: "/tmp", reservation: SpoolReservation(budget))
        let rows = Self.rows([0, 1])
        try stage.append([rows])
        var checksum = SubtreeChecksum()
        checksum.add(rows)
        return try stage.finish(Self.request, rowCount: 2, checksum: checksum.value)
    }

    @Test func aReservationReturnsItsBytes() throws {
        let budget = SpoolBudget(bytesMax: 10)
        do {
            let first = SpoolReservation(budget)
            try first.take(8)
            let second = SpoolReservation(budget)
            #expect(throws: NestError.self) { try second.take(3) }
            #expect(budget.byteCount == 8)
            withExtendedLifetime(first) {}
        }
        #expect(budget.byteCount == 0)
    }
}
