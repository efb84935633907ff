import NIOCore
import NestCompression
import NestModel

/// Frames whose body was compressed: the flag, what may carry it, and what a receiver makes of it.
extension MessageType {
    /// Whether a server may compress its body: of what may be large, all but diffs, which grow by it, and chunks, which say
    /// themselves whether they are.
    package var mayBeCompressed: Bool {
        switch self {
        case .snapshot, .snapshotSections, .snapshotRows, .history, .object, .model, .statistics, .explanation,
            .undoPreview, .changeSet:
            true
        case .hello, .welcome, .error, .goAway, .ping, .pong, .cancel, .credit, .done, .transaction, .receipt, .undo,
            .redo, .getHistory, .fetch, .getObject, .fetchSubtree, .importSubtree, .subtreeStart, .subtreeChunk,
            .subtreeEnd, .subscribe, .subscribed, .diff, .progress, .unsubscribe, .subscriptionEnd, .subscribeChanges,
            .totals, .resubscribe, .getModel, .getStatistics, .explain, .revert, .beginGroup, .group, .endGroup,
            .previewUndo, .getUndoState, .undoState, .own, .backup, .backupStart, .backupChunk, .backupEnd, .check,
            .checkProgress, .checked, .createToken, .tokenCreated, .listTokens, .tokenList, .revokeToken,
            .getClients, .clients, .kick:
            false
        }
    }
}

extension Frame {
    /// The frame as it was before it was compressed; itself, when it was not. `features`: what both sides know.
    ///
    /// The size that the body declares is judged before room is made for it.
    package func unpacked(_ features: Features) throws(WireError) -> Frame {
        guard self.flags.contains(.compressed) else { return self }
        guard features.contains(.compressedFrames), MessageType(rawValue: self.type)?.mayBeCompressed == true else {
            throw .unsupportedFlag(Flags.compressed.rawValue)
        }
        var frame = self
        frame.flags.remove(.compressed)
        do throws(Zstandard.Failure) {
            let bytes = try Zstandard.decompress(
                Array(self.body.readableBytesView),
                sizeMax: Limits.frameUnpackedBytesMax
            )
            frame.body = ByteBuffer(bytes: bytes)
        } catch {
            throw .malformed(DecodingFailure(.invalidValue, "compressed body"))
        }
        return frame
    }
}
