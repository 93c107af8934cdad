import {
  AliasDb,
  directlyWritten,
  isFromOutside,
  isPlain,
  logGraph,
  mayChange,
  MemoryLocations,
  type Block,
  type Graph,
  type Node,
  type Value,
} from '@cresset/ir';

/** How the log calls this file. */
const LOG = 'dead_code_elimination';

export interface DeadCodeOptions {
  /** Lets writes to memory that nobody looks at later go; without it every write stays. */
  readonly aliasDb?: AliasDb;
  /** Also deletes unused nodes with side effects (PyTorch: ALLOW_DELETING_NODES_WITH_SIDE_EFFECTS). */
  readonly allowSideEffects?: boolean;
}

/** The revisions of graphs in which writes without a reader were looked for, and nothing would be found once more: passes that follow each other ask again. */
const withoutDeadWrites = new WeakMap<Graph, number>();

/** Removes nodes without effect whose outputs are not used, and unused outputs of If, Loop and GradOf (PyTorch: EliminateDeadCode). */
export function eliminateDeadCode(graph: Graph, options: DeadCodeOptions = {}): boolean {
  const asksForMore = options.allowSideEffects || options.aliasDb;
  const isDone = !asksForMore && withoutDeadWrites.get(graph) === graph.revision;
  const changed = !isDone && eliminateDeadCodeInBlock(graph.block, options);
  logGraph(LOG, graph);
  return changed;
}

/** As `eliminateDeadCode`, with what aliases: also writes to memory go that nobody looks at later. */
export function eliminateDeadWrites(graph: Graph): boolean {
  const isDone = withoutDeadWrites.get(graph) === graph.revision;
  const changed = !isDone && new DeadCodeEliminator({}, () => AliasDb.of(graph)).run(graph.block);
  logGraph(LOG, graph);
  if (!changed) withoutDeadWrites.set(graph, graph.revision);
  return changed;
}

/** As `eliminateDeadCode`, for one block and all within it. */
export function eliminateDeadCodeInBlock(block: Block, options: DeadCodeOptions = {}): boolean {
  return new DeadCodeEliminator(options).run(block);
}

class DeadCodeEliminator {
  /** Who knows what aliases, where that was given or had to be asked. */
  #aliasDb: AliasDb | undefined;
  /** Asks what aliases, where that may be asked and was not; writes that nobody is known to look at wait for it. */
  #findAliases: (() => AliasDb) | undefined;
  readonly #marked = new Set<Node>();
  readonly #live = new Set<Value>();
  /** The memory of live values, where what aliases is known. */
  readonly #liveMemory = new MemoryLocations();
  #sideEffects = new Map<Node, boolean>();
  /** Whether a node that writes was passed by: memory that is found live later may make it live. */
  #hasPassedWriter = false;
  #changed = false;

  constructor(
    private readonly options: DeadCodeOptions,
    findAliases?: () => AliasDb,
  ) {
    this.#aliasDb = options.aliasDb;
    this.#findAliases = findAliases;
  }

  run(block: Block): boolean {
    this.#mark(block);
    if (this.#findAliases && this.#hasPassedWriter) {
      // Most programs use what they write to, and are done by now. Others begin anew: what comes before a write does not make it live.
      this.#aliasDb = this.#findAliases();
      this.#findAliases = undefined;
      this.#sideEffects = new Map();
      this.#marked.clear();
      this.#live.clear();
      this.#mark(block);
    }
    this.#sweep(block);
    return this.#changed;
  }

  #mark(block: Block): void {
    this.#markNode(block.returnNode);
    // Uses come after what is used, and readers after who writes, so one walk backwards finds all of it.
    this.#markBlock(block);
  }

  // ---- marking; each function tells whether it marked anything new

  #markBlock(block: Block): boolean {
    let marked = this.#markReturnNode(block);
    for (const node of block.reverseNodes()) {
      // A constant, which nearly every other node is, makes nothing else live: whether it is live itself is asked when it is found unused.
      if (node.kind === 'prim::Constant') continue;
      const plain = isPlain(node);
      if (!plain && !this.options.allowSideEffects && this.#hasSideEffects(node))
        marked = this.#markNode(node) || marked;
      if (node.kind === 'prim::Loop') {
        // What is live at the end of a trip is live at the beginning of the next.
        while (this.#markBlock(node.blocks[0])) marked = true;
      } else {
        for (const inner of node.blocks) marked = this.#markBlock(inner) || marked;
      }
      if (!this.#marked.has(node)) marked = this.#markIfLive(node, plain) || marked;
    }
    return marked;
  }

  #markReturnNode(block: Block): boolean {
    const { owningNode, returnNode } = block;
    const isLoop = owningNode?.kind === 'prim::Loop';
    if (!owningNode || !(isLoop || givesOutputsOfBlocks(owningNode))) return this.#markNode(returnNode);
    const offset = isLoop ? 1 : 0;
    let marked = isLoop && this.#markValue(returnNode.input(0));
    owningNode.outputs.forEach((output, index) => {
      // As in PyTorch what a trip makes for the next one is live as soon as that one uses it, for whatever that is.
      const isLive = this.#live.has(output) || (isLoop && block.inputs[index + 1].hasUses());
      if (isLive) marked = this.#markValue(returnNode.input(index + offset)) || marked;
    });
    this.#marked.add(returnNode);
    return marked;
  }

  #markIfLive(node: Node, plain: boolean): boolean {
    return (this.#givesWhatIsLive(node) || (!plain && this.#writesWhatIsLive(node))) && this.#markNode(node);
  }

  #givesWhatIsLive({ outputs }: Node): boolean {
    for (const output of outputs) if (this.#live.has(output)) return true;
    return false;
  }

  #writesWhatIsLive(node: Node): boolean {
    if (this.#findAliases) {
      const written = directlyWritten(node);
      // A list that is appended to is found by its own name.
      if (written?.some((value) => this.#live.has(value))) return true;
      this.#hasPassedWriter ||= written?.length !== 0;
      return false;
    }
    return this.#aliasDb?.writesOf(node)?.intersects(this.#liveMemory) === true;
  }

  #markNode(node: Node): boolean {
    if (this.#marked.has(node)) return false;
    this.#marked.add(node);
    const owner = node.inBlockList ? node.owningBlock.owningNode : undefined;
    if (owner) this.#markNode(owner);
    for (const input of node.inputs) if (!this.#live.has(input)) this.#markValue(input);
    return true;
  }

  #markValue(value: Value): boolean {
    if (this.#live.has(value)) return false;
    this.#live.add(value);
    if (this.#aliasDb) this.#markMemory(value);
    return true;
  }

  /** What a list holds is as live as the list, though who made it comes further up (PyTorch asks for the list's own memory). */
  #markMemory(value: Value): void {
    const memory = this.#aliasDb?.locationsWithin(value);
    if (memory) this.#liveMemory.addAll(memory);
  }

  #hasSideEffects(node: Node): boolean {
    let known = this.#sideEffects.get(node);
    if (known === undefined) {
      known =
        node.hasSideEffects() ||
        isUnknownOperator(node) ||
        (node.blocks.length > 0 && node.blocks.some((block) => this.#someHasSideEffects(block))) ||
        this.#hasUntrackedMutation(node);
      this.#sideEffects.set(node, known);
    }
    return known;
  }

  #someHasSideEffects(block: Block): boolean {
    for (const node of block.nodes()) {
      if (!isPlain(node) && this.#hasSideEffects(node)) return true;
    }
    return false;
  }

  #hasUntrackedMutation(node: Node): boolean {
    if (this.#findAliases) return directlyWritten(node)?.some(isFromOutside) === true;
    return this.#aliasDb ? this.#aliasDb.writesToWildcard(node) : isWrite(node);
  }

  // ---- sweeping

  /** The condition of a loop that goes is one, and stays as in PyTorch. */
  #isLiveConstant(node: Node): boolean {
    return node.kind === 'prim::Constant' && this.#live.has(node.output());
  }

  #sweep(block: Block): void {
    for (const node of block.reverseNodes()) {
      if (node.blocks.length > 0) {
        // First of all, so that what only served them is found dead in the blocks.
        if (givesOutputsOfBlocks(node)) this.#removeDeadBlockOutputs(node);
        else if (node.kind === 'prim::Loop') this.#removeDeadLoopOutputs(node);
        for (const inner of node.blocks) this.#sweep(inner);
      }
      if (!this.#marked.has(node) && !node.hasUses() && !this.#isLiveConstant(node) && mayChange(LOG, node)) {
        node.destroy();
        this.#changed = true;
      }
    }
  }

  #removeDeadBlockOutputs(node: Node): void {
    for (let index = node.outputs.length - 1; index >= 0; index--) {
      if (node.output(index).hasUses()) continue;
      node.eraseOutput(index);
      for (const block of node.blocks) block.eraseOutput(index);
      this.#changed = true;
    }
  }

  #removeDeadLoopOutputs(node: Node): void {
    const [body] = node.blocks;
    for (let index = node.outputs.length - 1; index >= 0; index--) {
      if (node.output(index).hasUses() || body.inputs[index + 1].hasUses()) continue;
      node.eraseOutput(index);
      node.removeInput(index + 2);
      body.eraseOutput(index + 1);
      body.eraseInput(index + 1);
      this.#changed = true;
    }
  }
}

const givesOutputsOfBlocks = ({ kind }: Node): boolean => kind === 'prim::If' || kind === 'prim::GradOf';

function isWrite(node: Node): boolean {
  return node.kind === 'prim::SetAttr' || node.maybeSchema()?.isMutable === true;
}

/** An operator without schema may do anything. */
function isUnknownOperator(node: Node): boolean {
  return !node.kind.startsWith('prim::') && node.maybeSchema() === undefined;
}
