import NestModel
import NestProtocol

/// The limits of an engine: those of `Limits`, unless a setting of nestd or a test specifies others.
package struct EngineLimits: Sendable {
    package var differenceRowsMin: Int
    package var dependencyChangesMax: Int
    package var windowWorkMax: Int
    package var admissionWorkMax: Int
    package var backgroundReadRowsMin: Int
    package var scopeRowsPerTurnMax: Int
    package var changePageBytes: Int
    package var diskFreeBytesMin: Int
    package var liveResultBytesMax: Int
    package var rowLogBytesMax: Int
    package var turnStepsMax: Int
    package var preparedObjectsMin: Int
    package var evaluationNanosecondsMax: Int
    package var answerBytesUnreadMax: Int
    package var writeStepsMax: Int
    package var confinedWriteStepsMax: Int
    package var outlineRowsMax: Int
    package var aggregatedRowsPerTurnMax: Int
    package var aggregateBytesMax: Int
    /// For tests: `nil`, the usual number.
    package var aggregatedFewMax: Int

    /// Returns the steps that a write may take.
    func stepsMax(_ scope: AuthorisationScope) -> Int {
        scope == .everything ? self.writeStepsMax : self.confinedWriteStepsMax
    }

    /// Returns the steps that the preview of an undo may take.
    func previewStepsMax(_ scope: AuthorisationScope) -> Int { min(Limits.previewStepsMax, self.stepsMax(scope)) }

    package init(
        differenceRowsMin: Int = Limits.differenceRowsMin,
        dependencyChangesMax: Int = Limits.dependencyChangesMax,
        windowWorkMax: Int = Limits.windowWorkMax,
        admissionWorkMax: Int = Limits.admissionWorkMax,
        backgroundReadRowsMin: Int = Limits.backgroundReadRowsMin,
        scopeRowsPerTurnMax: Int = Limits.scopeRowsPerTurnMax,
        changePageBytes: Int = Limits.changePageBytes,
        diskFreeBytesMin: Int = Limits.diskFreeBytesMin,
        liveResultBytesMax: Int = Limits.liveResultBytesMax,
        turnStepsMax: Int = Limits.turnStepsMax,
        preparedObjectsMin: Int = Limits.preparedObjectsMin,
        rowLogBytesMax: Int = Limits.rowLogBytesMax,
        evaluationNanosecondsMax: Int = Limits.evaluationNanosecondsMax,
        answerBytesUnreadMax: Int = Limits.answerBytesUnreadMax,
        writeStepsMax: Int = Limits.writeStepsMax,
        confinedWriteStepsMax: Int = Limits.confinedWriteStepsMax,
        outlineRowsMax: Int = Limits.outlineRowsMax,
        aggregatedRowsPerTurnMax: Int = Limits.aggregatedRowsPerTurnMax,
        aggregateBytesMax: Int = Limits.aggregateBytesMax,
        aggregatedFewMax: Int? = nil
    ) {
        self.differenceRowsMin = differenceRowsMin
        self.dependencyChangesMax = dependencyChangesMax
        self.windowWorkMax = windowWorkMax
        self.admissionWorkMax = admissionWorkMax
        self.backgroundReadRowsMin = backgroundReadRowsMin
        self.scopeRowsPerTurnMax = scopeRowsPerTurnMax
        self.changePageBytes = changePageBytes
        self.diskFreeBytesMin = diskFreeBytesMin
        self.liveResultBytesMax = liveResultBytesMax
        self.rowLogBytesMax = rowLogBytesMax
        self.turnStepsMax = turnStepsMax
        self.preparedObjectsMin = preparedObjectsMin
        self.evaluationNanosecondsMax = evaluationNanosecondsMax
        self.answerBytesUnreadMax = answerBytesUnreadMax
        self.writeStepsMax = writeStepsMax
        self.confinedWriteStepsMax = confinedWriteStepsMax
        self.outlineRowsMax = outlineRowsMax
        self.aggregatedRowsPerTurnMax = aggregatedRowsPerTurnMax
        self.aggregateBytesMax = aggregateBytesMax
        self.aggregatedFewMax = aggregatedFewMax ?? RelatedAggregates.fewMax
    }
}
