import NIOConcurrencyHelpers
import NIOCore
import NestFraming
import NestModel
import NestProtocol
import NestServer
import Testing

/// The state values of a server connection, without a channel.
struct ServerConnectionTests {
    // MARK: RequestQuota

    private static func quota(controlFrames: Int = 10, perTurn: Int = 10) -> RequestQuota {
        RequestQuota(
            controlFrames: TokenBucket.Rate(perSecond: 1, burst: controlFrames),
            controlFramesPerTurnMax: perTurn,
            now: .uptimeNanoseconds(0)
        )
    }

    @Test func requestsInFlightAreLimitedUntilTheyAreAnswered() {
        var quota = Self.quota()
        quota.begin()
        quota.begin(7, byteCount: 0, isResult: false)
        #expect(quota.inFlight == 2)
        #expect(!quota.mayTakeFrame(inFlightMax: 2))
        #expect(quota.mayTakeFrame(inFlightMax: 3))
        quota.answered([])
        #expect(quota.inFlight == 2)
        quota.answered([7, 8])
        #expect(quota.inFlight == 0)
        #expect(quota.mayTakeFrame(inFlightMax: 2))
    }

    @Test func largeResultsInFlightAreLimited() {
        var quota = Self.quota()
        let max = UInt32(Limits.resultsInFlightPerConnectionMax)
        for id in 1..<max { quota.begin(id, byteCount: 0, isResult: true) }
        #expect(quota.mayTakeFrame(inFlightMax: .max))
        quota.begin(max, byteCount: 0, isResult: true)
        #expect(!quota.mayTakeFrame(inFlightMax: .max))
        quota.answered([1])
        #expect(quota.mayTakeFrame(inFlightMax: .max))
    }

    @Test func bytesOfLargeRequestsAreLimitedAndSmallRequestsAreNotCounted() {
        var quota = Self.quota()
        quota.begin(1, byteCount: RequestQuota.smallRequestBytes - 1, isResult: false)
        #expect(quota.byteCount == 0)
        quota.begin(2, byteCount: Limits.requestBytesInFlightPerConnectionMax, isResult: false)
        #expect(quota.mayTakeFrame(inFlightMax: .max))
        quota.begin(3, byteCount: RequestQuota.smallRequestBytes, isResult: false)
        #expect(!quota.mayTakeFrame(inFlightMax: .max))
        quota.answered([2])
        #expect(quota.byteCount == RequestQuota.smallRequestBytes)
        #expect(quota.mayTakeFrame(inFlightMax: .max))
        quota.releaseBytes()
        #expect(quota.byteCount == 0)
    }

    @Test func controlFramesAreLimitedInAllAndInEachTurn() {
        var quota = Self.quota(controlFrames: 3, perTurn: 2)
        func take() -> Bool { quota.takeControlFrame { .uptimeNanoseconds(0) } }
        #expect(take())
        #expect(quota.mayTakeFrame(inFlightMax: 1))
        #expect(take())
        #expect(!quota.mayTakeFrame(inFlightMax: 1))
        var pauses = 0
        for _ in 0..<2 where quota.mustPause() { pauses += 1 }
        #expect(pauses == 1)
        quota.endRead()
        #expect(!quota.mayTakeFrame(inFlightMax: 1))
        quota.endPause()
        #expect(quota.mayTakeFrame(inFlightMax: 1))
        #expect(take())
        #expect(!take())
    }

    // MARK: InboundReader

    @Test func framesAreDecodedFromBytesThatArriveOneByOne() throws {
        var reader = InboundReader()
        let frame = Ping(payload: 5).frame(id: 0)
        var frames = 0
        for byte in (Array(frame.readableBytesView) + Array(frame.readableBytesView)) {
            var bytes = ByteBuffer(bytes: [byte])
            reader.count(1)
            reader.append(&bytes)
            let begins = reader.beginHandling()
            let beginsAgain = reader.beginHandling()
            #expect(begins && !beginsAgain)
            if let next = try reader.nextFrame() {
                #expect(next.type == MessageType.ping.rawValue)
                frames += 1
            }
            reader.endHandling()
        }
        #expect(frames == 2)
        #expect(reader.frameCount == 2)
        #expect(reader.totalByteCount == 2 * frame.readableBytes)
        #expect(reader.byteCount == 0)
        let begins = reader.beginHandling()
        #expect(!begins)
    }

    @Test func largeFramesAreRefusedBeforeWelcomeAndAcceptedAfter() throws {
        var header = ByteBuffer()
        header.writeMultipleIntegers(
            UInt32(Limits.frameBytesBeforeWelcomeMax + 1),
            MessageType.ping.rawValue,
            UInt8(0),
            UInt16(0),
            UInt32(0)
        )
        var reader = InboundReader()
        reader.append(&header)
        #expect(throws: WireError.self) { try reader.nextFrame() }
        reader.acceptLargeFrames()
        #expect(try reader.nextFrame() == nil)
        #expect(reader.awaitedByteCount == Frame.headerBytes + Limits.frameBytesBeforeWelcomeMax + 1)
        let byteCount = reader.byteCount
        reader.webSocketByteCount = 9
        #expect(reader.byteCount == byteCount + 9 && reader.awaitedByteCount == Limits.webSocketFrameBytesMax)
        reader.removeAll()
        #expect(reader.byteCount == 0)
    }

    @Test func aHeldReadIsReleasedOnce() {
        var reader = InboundReader()
        reader.holdRead()
        #expect(reader.isReadHeld)
        let released = [reader.releaseRead(), reader.releaseRead()]
        #expect(released == [true, false])
    }

    // MARK: ConnectionOutput

    @Test func outputIsFlushedOnceAndImmediatelyAboveTheLimit() {
        var output = ConnectionOutput()
        func flushes() -> Bool { output.takeFlush() }
        #expect(!flushes())
        var mustFlush = output.wrote(Limits.socketBytesHigh - 1)
        #expect(!mustFlush)
        mustFlush = output.wrote(1)
        #expect(mustFlush)
        #expect(flushes())
        #expect(!flushes())
        mustFlush = output.wrote(1)
        #expect(!mustFlush)
        #expect(output.writtenByteCount == Limits.socketBytesHigh + 1)
    }

    @Test func writtenBytesAreReportedOnceAndUncountedUntilTheyArePassedOn() {
        var output = ConnectionOutput()
        _ = output.wrote(10)
        let reports = [output.takeUnreported(), output.takeUnreported()]
        #expect(reports == [10, 0])
        #expect(output.uncountedByteCount == 10)
        output.notePassedOn()
        _ = output.wrote(3)
        #expect(output.uncountedByteCount == 3)
    }

    @Test func onlyTheFirstDeliveryBeforeASettleIsReportedAsFirst() {
        var output = ConnectionOutput()
        let isFirst = [output.beginDelivery(), output.beginDelivery()]
        #expect(isFirst == [true, false])
        #expect(output.isInDelivery)
        output.endDelivery()
        let isFirstAgain = output.beginDelivery()
        #expect(isFirstAgain)
    }

    @Test func outputWaitsWhileTheQueueIsNotEmptyOrTheChannelIsFull() {
        var output = ConnectionOutput()
        #expect(output.mayWriteAtOnce)
        output.isChannelWritable = false
        #expect(!output.mayWriteAtOnce)
        output.isChannelWritable = true
        output.queue.append(.bytes(ByteBuffer(bytes: [1])))
        #expect(!output.mayWriteAtOnce)
    }

    // MARK: Liveness

    @Test func aFrameIsLateWhenNoneIsCompletedForTheLimit() {
        let start = NIODeadline.uptimeNanoseconds(0)
        var liveness = Liveness(now: start)
        func isLate(_ after: Int64, frame: Int?) -> Bool {
            liveness.isFrameLate(now: start + .seconds(after), frame: frame, limit: .seconds(10))
        }
        #expect(!isLate(0, frame: 0))
        #expect(!isLate(9, frame: 0))
        #expect(isLate(10, frame: 0))
        // Another frame begins, and then no frame is incomplete.
        #expect(!isLate(11, frame: 1))
        #expect(!isLate(20, frame: nil))
        #expect(!isLate(21, frame: 1))
        #expect(isLate(31, frame: 1))
    }

    @Test func handshakeAndLingeringHaveTheirLimits() {
        let start = NIODeadline.uptimeNanoseconds(0)
        var liveness = Liveness(now: start)
        #expect(!liveness.isHandshakeLate(now: start + .seconds(9), limit: .seconds(10)))
        #expect(liveness.isHandshakeLate(now: start + .seconds(10), limit: .seconds(10)))
        #expect(!liveness.isLingerOver(now: start + .seconds(100), limit: .seconds(1)))
        liveness.ended(now: start + .seconds(100))
        #expect(!liveness.isLingerOver(now: start + .seconds(100), limit: .seconds(1)))
        #expect(liveness.isLingerOver(now: start + .seconds(101), limit: .seconds(1)))
    }

    @Test func receivedBytesCountAsOneSignOfLife() {
        var liveness = Liveness(now: .uptimeNanoseconds(0))
        liveness.noteBytes()
        let heard = [liveness.takeHeard(), liveness.takeHeard()]
        #expect(heard == [true, false])
    }

    // MARK: ConnectionSlot

    @Test func aSlotIsReleasedOnceAndOnlyIfItWasTaken() {
        let limiter = ConnectionLimiter(max: 1)
        var first = ConnectionSlot(), second = ConnectionSlot()
        let entries = [first.take(from: limiter), second.take(from: limiter)]
        #expect(entries == [.served, .full])
        #expect(first.isHeld && !second.isHeld)
        second.leave(limiter)
        #expect(limiter.count == 1)
        first.leave(limiter)
        first.leave(limiter)
        #expect(limiter.count == 0)
        let entry = second.take(from: limiter)
        #expect(entry == .served)
    }

    // MARK: Transfers

    private static func download() -> Download { Download(reservation: SpoolReservation(SpoolBudget(bytesMax: 1))) }

    private static func upload() -> Upload {
        let request = SubtreeImport(
            entity: EntityNumber(1),
            placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last),
            properties: [PropertyNumber(1)]
        )
        let stage = UploadStage(
            request,
            directory: "/tmp",
            reservation: SpoolReservation(SpoolBudget(bytesMax: 1))
        )
        return Upload(request, stage: stage)
    }

    @Test func uploadsAndDownloadsAreLimitedTogether() throws {
        var transfers = Transfers()
        #expect(transfers.isEmpty)
        for id in 0..<UInt32(Limits.transfersPerConnectionMax) {
            try transfers.checkRoom()
            if id.isMultiple(of: 2) {
                transfers.add(Self.upload(), id: id)
            } else {
                transfers.add(Self.download(), id: id)
            }
        }
        #expect(throws: NestError.self) { try transfers.checkRoom() }
        let isCancelled = transfers.cancel(0)
        #expect(isCancelled)
        try transfers.checkRoom()
    }

    @Test func aCancelledDownloadIsRemovedAndItsThreadStops() {
        var transfers = Transfers()
        let download = Self.download()
        transfers.add(download, id: 3)
        let cancelled = [transfers.cancel(3), transfers.cancel(3)]
        #expect(cancelled == [true, false])
        #expect(download.isCancelled.withLockedValue { $0 })
        #expect(!transfers.hasDownload(3) && transfers.isEmpty)
        // Chunks that are still read for it are skipped.
        transfers.read(SpooledChunk(bytes: [1], next: 1), id: 3)
        guard case .none = transfers.proceed(3, isWritable: true) else {
            Issue.record("expected no action for a removed download")
            return
        }
    }

    @Test func theEndOfTheConnectionCancelsAllTransfers() {
        var transfers = Transfers()
        let download = Self.download()
        transfers.add(download, id: 3)
        transfers.add(Self.upload(), id: 4)
        transfers.cancelAll()
        #expect(transfers.isEmpty && download.isCancelled.withLockedValue { $0 })
    }

    @Test func aFailedUploadIsRemovedAndLaterChunksAreSkipped() {
        var transfers = Transfers()
        transfers.add(Self.upload(), id: 4)
        let chunk = [UInt8](repeating: 0, count: Limits.creditBytesInitial + 1)
        guard case .fail(let error) = transfers.received(chunk: chunk, id: 4) else {
            Issue.record("expected a failure: the chunk exceeds its credit")
            return
        }
        #expect(error.code == .flowControl)
        #expect(transfers.isEmpty)
        guard case .none = transfers.received(chunk: [1], id: 4) else {
            Issue.record("expected no action for a removed upload")
            return
        }
        let staged = transfers.staged(.failure(error), byteCount: 1, id: 4)
        #expect(staged == nil)
    }

    @Test func uploadBytesAreHeldUntilStagedAndTheReplyRemovesTheUpload() throws {
        var transfers = Transfers()
        transfers.add(Self.upload(), id: 4)
        guard case .stage(let stage, let bodies) = transfers.received(chunk: [1, 2, 3], id: 4) else {
            Issue.record("expected the chunk to be staged")
            return
        }
        #expect(bodies == [[1, 2, 3]])
        #expect(transfers.heldBytes == 3)
        guard case .none? = transfers.staged(.success(stage), byteCount: 3, id: 4) else {
            Issue.record("expected no action without more chunks")
            return
        }
        #expect(transfers.heldBytes == 0)
        transfers.answered([4])
        #expect(transfers.isEmpty)
    }
}
