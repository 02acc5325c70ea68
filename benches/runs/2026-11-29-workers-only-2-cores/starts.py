import subprocess,time,sys,statistics,os
env=dict(os.environ,HOME='/tmp/pp/home')
def run(b,args):
    t=time.perf_counter(); r=subprocess.run([b]+args,env=env,cwd='/tmp/pp',capture_output=True); assert r.returncode==0,(b,args,r.stderr[-300:]); return time.perf_counter()-t
A,B=sys.argv[1:3]; n=int(sys.argv[3])
many=[f'many/t{i}.ts' for i in range(1,101)]
flags=sum((['--tool',m] for m in many),[])
for name,args in [('call one',['--no-cache','--tool','one.ts','call','one']),('list 1 cold',['--no-cache','--tool','one.ts','list']),('list 100 cold',['--no-cache']+flags+['list'])]:
    a=[];b=[]
    for i in range(n):
        if i%2: b.append(run(B,args)); a.append(run(A,args))
        else: a.append(run(A,args)); b.append(run(B,args))
    r=[y/x for x,y in zip(a,b)]
    print(name,'A %.1f ms B %.1f ms ratio of medians %.3f median of ratios %.3f'%(statistics.median(a)*1e3,statistics.median(b)*1e3,statistics.median(b)/statistics.median(a),statistics.median(r)))
