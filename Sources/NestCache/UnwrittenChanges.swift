import NestClient
import NestProtocol

/// Changes that wait to be written. Those of one view are merged where they follow each other.
struct UnwrittenChanges: Sendable {
    enum ViewChange: Sendable {
        case replace(CachedView)
        case append(CacheAppend)
        case remove
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
        case .remove(let request, _): self.views[request] = [.remove]
        case .replace(let view):
            guard self.count(view.frames) else { return false }
            self.views[view.request] = [.replace(view)]
            self.note(shown: view.request)
        case .append(let append):
            guard self.count(append.frames) else { return false }
            self.add(append)
        }
        return true
    }

    private mutating func count(_ frames: [CachedFrame]) -> Bool {
        let bytes = frames.reduce(0) { $0 + $1.body.count + 64 }
        guard self.byteCount + bytes <= Limits.cacheUnwrittenBytesMax else { return false }
        self.byteCount += bytes
        return true
    }

    private mutating func add(_ append: CacheAppend) {
        let changes = self.views[append.request] ?? []
        switch changes.last {
        case .replace(var view)?
        where view.recording == append.recording && view.sequence == append.sequence:
            view.frames += append.frames
            view.sequence += append.frames.count
            view.revision = append.revision
            view.digest = append.digest
            self.views[append.request] = changes.dropLast() + [.replace(view)]
        case .append(var last)?
        where last.recording == append.recording && last.sequence + last.frames.count == append.sequence:
            last.frames += append.frames
            last.revision = append.revision
            last.digest = append.digest
            self.views[append.request] = changes.dropLast() + [.append(last)]
        default: self.views[append.request] = changes + [.append(append)]
        }
    }

    mutating func note(shown request: [UInt8]) {
        self.shown.removeAll { $0 == request }
        self.shown.append(request)
    }
}
