import NestLiveQuery
import NestModel
import NestOrder
import NestProtocol
import NestSchema
import NestStore

/// Makes the bodies of RESULT_TOTALS; `nil` for results without totals.
enum ViewTotals {
    /// Returns the totals that a whole state needs: those of all sections shown.
    static func all(
        _ source: ResultSource,
        _ state: LiveState,
        _ range: Range<Int>,
        _ revision: Revision,
        isBeforeRows: Bool = true
    ) throws(StoreError) -> [UInt8]? {
        guard !source.totals.isEmpty else { return nil }
        return try self.body(state, range, only: nil, revision, isBeforeRows: isBeforeRows)
    }

    static func all(_ view: View, _ result: LiveResult, _ revision: Revision, isBeforeRows: Bool = true)
        throws(StoreError) -> [UInt8]?
    {
        try self.all(result.source, result.state, view.range, revision, isBeforeRows: isBeforeRows)
    }

    /// Returns the totals that the last changes of a result have changed in what a view shows; `nil`: none.
    /// `arrived`: whether a section has come into the window.
    static func changed(
        _ view: View,
        _ result: LiveResult,
        _ revision: Revision,
        arrived: Bool = false,
        isBeforeRows: Bool
    ) throws(StoreError) -> [UInt8]? {
        guard let changed = result.changedTotals else { return nil }
        // Other rows may bring a section into a window.
        let isWhole = arrived && view.key.window != nil
        guard changed.isAny || isWhole else { return nil }
        let starts = isWhole ? nil : changed.sections
        return try self.body(result.state, view.range, only: starts, revision, isBeforeRows: isBeforeRows)
    }

    private static func body(
        _ state: LiveState,
        _ range: Range<Int>,
        only starts: Set<SortKey>?,
        _ revision: Revision,
        isBeforeRows: Bool
    ) throws(StoreError) -> [UInt8] {
        let totals: (whole: [AttributeValue], sections: [TotalsUpdate.Section])
        do throws(ResultTotals.Overflow) {
            totals = try state.totals(of: range, only: starts)
        } catch {
            throw StoreError.refused(
                .valueTooLarge,
                "total \(error.index + 1) of the request is beyond the numbers of its type"
            )
        }
        let update = TotalsUpdate(revision: revision, values: totals.whole, sections: totals.sections)
        let body = ResultTotalsMessage(update, isBeforeRows: isBeforeRows).body
        guard body.count <= Limits.totalsBytesMax else {
            throw StoreError.refused(
                .limitExceeded,
                "the totals of all sections shown have over \(Limits.totalsBytesMax) bytes: request a window"
            )
        }
        return body
    }
}
