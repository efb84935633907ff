import NestClient
import NestProtocol

/// Changes that wait to be written. Those of one view are merged where they follow each other.
struct UnwrittenChanges: Sendable {
    /// A change of a view: one of two, or its removal. It has optional parts, because those are changed in place.
    struct ViewChange: Sendable {
        var replacement: CachedView?
        var append: CacheAppend?

        /// Adds frames that follow this change. Returns `false` if they do not.
        mutating func merge(_ append: CacheAppend) -> Bool {
            if let view = self.replacement.map({ ($0.recording, $0.sequence, $0.revision) }),
                append.follows(recording: view.0, sequence: view.1, revision: view.2)
            {
                self.replacement?.frames += append.frames
                self.replacement?.sequence += append.frames.count
                self.replacement?.revision = append.revision
                self.replacement?.digest = append.digest
                return true
            }
            if let last = self.append.map({ ($0.recording, $0.sequence + $0.frames.count, $0.revision) }),
                append.follows(recording: last.0, sequence: last.1, revision: last.2)
            {
                self.append?.revision = append.revision
                self.append?.digest = append.digest
                self.append?.frames += append.frames
                return true
            }
            return false
        }
    }

    private(set) var model: CachedModel?
    /// By request, in order.
    private(set) var views: [[UInt8]: [ViewChange]] = [:]
    /// The views that were shown, the last one at the end.
    private(set) var shown: [[UInt8]] = []
    private var byteCount = 0

    var isEmpty: Bool { self.model == nil && self.views.isEmpty && self.shown.isEmpty }

    func concerns(_ request: [UInt8]) -> Bool { self.views[request] != nil }

    /// Adds a change. Returns `false`, and drops it, if too many bytes wait.
    mutating func add(_ change: CacheChange) -> Bool {
        switch change {
        case .model(let model): self.model = model
        case .remove(let request, _): self.views[request] = [ViewChange()]
        case .replace(let view):
            guard self.count(view.frames) else {
                // What the file has is older than what the program was shown.
                self.views[view.request] = [ViewChange()]
                return false
            }
            self.views[view.request] = [ViewChange(replacement: view)]
            self.note(shown: view.request)
        case .append(let append):
            guard self.count(append.frames) else { return false }
            self.views[append.request, default: []].add(append)
        }
        return true
    }

    /// Adds what is left of a batch that could not be written: its model, and the removal of each view, because the
    /// file may have a state that was to be removed. Later changes win.
    mutating func restore(_ lost: UnwrittenChanges) {
        self.model = self.model ?? lost.model
        for request in lost.views.keys where self.views[request]?.first.map({ $0.append != nil }) ?? true {
            self.views[request] = [ViewChange()]
        }
    }

    private mutating func count(_ frames: [CachedFrame]) -> Bool {
        let bytes = frames.reduce(0) { $0 + $1.body.count + 64 }
        guard self.byteCount + bytes <= Limits.cacheUnwrittenBytesMax else { return false }
        self.byteCount += bytes
        return true
    }

    mutating func note(shown request: [UInt8]) {
        self.shown.removeAll { $0 == request }
        self.shown.append(request)
    }
}

extension [UnwrittenChanges.ViewChange] {
    fileprivate mutating func add(_ append: CacheAppend) {
        guard let last = self.indices.last, self[last].merge(append) else {
            self.append(UnwrittenChanges.ViewChange(append: append))
            return
        }
    }
}
